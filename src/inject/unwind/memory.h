/* Memory of a stopped process, which is read a page at a time and kept: unwinding reads the same places again
 * and again, and the process is to be stopped as briefly as possible. */
#ifndef FG_INJECT_UNWIND_MEMORY_H
#define FG_INJECT_UNWIND_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fg_page;

/* Return: number of bytes, or negative errno, as of fg_thread_read(). */
typedef ssize_t (*fg_memory_fn)(const void *source, uint64_t address, void *into, size_t bytes);

struct fg_memory {
    fg_memory_fn read;
    const void *source;
    struct fg_page *pages;
};

/**
 * fg_memory_open() - Begin to read.
 * @read: reads from @source; the bytes must not change before fg_memory_close()
 *
 * Return: 0 or -ENOMEM.
 */
int fg_memory_open(struct fg_memory *memory, fg_memory_fn read, const void *source);

void fg_memory_close(struct fg_memory *memory);

/**
 * fg_memory_read() - Read bytes.
 *
 * Return: whether all of them could be read.
 */
bool fg_memory_read(struct fg_memory *memory, uint64_t address, void *into, size_t bytes);

#endif
