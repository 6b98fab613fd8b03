/* See mmap_memory.h. */
#define _GNU_SOURCE
#include "engine/base/mmap_memory.h"

#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#define GRANULE ((size_t)4096)

/* Before the memory. */
struct block {
    size_t bytes; /* of the mapping */
    size_t unused;
};

static size_t mapping_bytes(size_t bytes)
{
    return (bytes + sizeof(struct block) + GRANULE - 1) & ~(GRANULE - 1);
}

static void *memory_of(void *mapping, size_t bytes)
{
    struct block *block = mapping;

    if (mapping == MAP_FAILED)
        return NULL;
    block->bytes = bytes;
    return block + 1;
}

void *fg_mmap_alloc(size_t bytes)
{
    size_t all = mapping_bytes(bytes);

    if (all < bytes)
        return NULL;
    return memory_of(mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), all);
}

void *fg_mmap_grow(void *memory, size_t bytes)
{
    struct block *block = memory ? (struct block *)memory - 1 : NULL;
    size_t all = mapping_bytes(bytes);

    if (!block)
        return fg_mmap_alloc(bytes);
    if (all < bytes)
        return NULL;
    return all <= block->bytes ? memory : memory_of(mremap(block, block->bytes, all, MREMAP_MAYMOVE), all);
}

void fg_mmap_free(void *memory)
{
    struct block *block = memory ? (struct block *)memory - 1 : NULL;

    if (block)
        munmap(block, block->bytes);
}

char *fg_mmap_path(const char *format, ...)
{
    char *path = fg_mmap_alloc(PATH_MAX);
    va_list args;
    int length;

    if (!path)
        return NULL;
    va_start(args, format);
    length = vsnprintf(path, PATH_MAX, format, args);
    va_end(args);
    if (length >= 0 && length < PATH_MAX)
        return path;
    fg_mmap_free(path);
    return NULL;
}
