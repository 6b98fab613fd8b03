/* Whole reads and writes at a place in a file, however the kernel splits the work. */
#ifndef FG_FILE_IO_H
#define FG_FILE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* 0, or a negative errno (-ENOSPC, -EIO, ...); what was written before the error stays. Uses up `pieces`. */
int fg_file_write_pieces(int fd, struct iovec *pieces, int nr_pieces, uint64_t offset);
int fg_file_write(int fd, const void *data, size_t bytes, uint64_t offset);

/* 0, or a negative errno; -EIO if the file ends before. */
int fg_file_read(int fd, void *data, size_t bytes, uint64_t offset);

#endif
