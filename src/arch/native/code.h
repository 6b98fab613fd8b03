/* Writing code. The kernel writes for us, through /proc/self/mem: it takes no notice of the protection
 * of a page, so no page is ever writable and executable at a time, and none changes its protection. A
 * changed page of a file is this process's own copy from then on. */
#ifndef FG_NATIVE_CODE_H
#define FG_NATIVE_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_code_writer {
    int fd;
};

/* A negative errno: nothing can be written. */
int fg_code_open(struct fg_code_writer *writer);
void fg_code_close(struct fg_code_writer *writer);
/* Calls nothing of the C library. False: nothing was written, or only a part. */
bool fg_code_write(const struct fg_code_writer *writer, uintptr_t address, const void *bytes, size_t n);
/* Reads memory that may not be there. Returns how many of the bytes are. */
size_t fg_code_read(const struct fg_code_writer *writer, uintptr_t address, void *bytes, size_t n);
/* Waits until every thread executes what was written before. False: this kernel cannot tell (membarrier). */
bool fg_code_settle(void);

#endif
