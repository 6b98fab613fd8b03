/* Reads and writes at an offset of a file that are complete, however the kernel splits them. */
#ifndef FG_FILE_IO_H
#define FG_FILE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/**
 * fg_file_write_pieces() - Write several pieces, one after the other.
 * @pieces: changed by the call
 *
 * Return: 0, or a negative errno (-ENOSPC, -EIO, ...); what was written before the error stays in the file.
 */
int fg_file_write_pieces(int fd, struct iovec *pieces, int nr_pieces, uint64_t offset);
/* The same for one piece. */
int fg_file_write(int fd, const void *data, size_t bytes, uint64_t offset);

/* Reads exactly `bytes`. Return: 0, or a negative errno; -EIO if the file is shorter. */
int fg_file_read(int fd, void *data, size_t bytes, uint64_t offset);

#endif
