/* Memory from the kernel alone, for what a thread may allocate or free while it traces a call, or under a
 * lock that it takes then.
 *
 * A native function may be called, and traced, with the locks of the C library's allocator held: a call of
 * malloc() there would wait for ever, in this thread or for another one that waits for a lock of ours. */
#ifndef FG_MMAP_MEMORY_H
#define FG_MMAP_MEMORY_H

#include <stddef.h>

/* Returns @bytes of zeros, aligned to 16; NULL: memory is short. */
void *fg_mmap_alloc(size_t bytes);

/* Makes @memory (NULL: new) hold at least @bytes; it may move. What was not written before is zero.
 * NULL: memory is short, and nothing has changed. */
void *fg_mmap_grow(void *memory, size_t bytes);

/* @memory may be NULL. */
void fg_mmap_free(void *memory);

/* Returns a text as printf() makes it. NULL: memory is short, or it has PATH_MAX bytes or more. */
char *fg_mmap_path(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
