/* A file that is read at offsets, and the one line that says why it cannot be. */
#ifndef FG_INPUT_H
#define FG_INPUT_H

#include <stddef.h>
#include <stdint.h>

/* Room for one line that says why the file cannot be read. */
#define FG_REASON_BYTES 200

struct fg_input {
    int fd;
    uint64_t bytes;
};

/* Sets the reason. Return: -EINVAL. */
int __attribute__((format(printf, 2, 3))) fg_refuse(char reason[FG_REASON_BYTES], const char *format, ...);

/* Reads exactly `bytes` at `offset`. Return: 0; -EINVAL: the file is too short, and `reason` says so; or
 * another negative errno, and `reason` is unchanged. */
int fg_input_read(const struct fg_input *input, uint64_t offset, void *into, size_t bytes,
                  char reason[FG_REASON_BYTES]);

#endif
