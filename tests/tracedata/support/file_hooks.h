/* The library's writes, truncations and reads at an offset pass a test's function first. It fails as a full
 * disk does, or acts as the traced process does at that moment. */
#ifndef FG_TEST_FILE_HOOKS_H
#define FG_TEST_FILE_HOOKS_H

#include <stddef.h>
#include <stdint.h>

/* Return: how many of the bytes are written, at most @bytes; or a negative errno. NULL: all. */
extern int64_t (*test_on_write)(int fd, size_t bytes);
/* Return: 0 or a negative errno. NULL: 0. */
extern int (*test_on_truncate)(int fd);
extern void (*test_on_read)(int fd);

#endif
