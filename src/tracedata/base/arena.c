/* See arena.h. */
#include "tracedata/base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST_BYTES ((size_t)1 << 10)
#define MOST_BYTES ((size_t)1 << 20)

struct fg_arena_block {
    struct fg_arena_block *next;
    char data[];
};

static int add_block(struct fg_arena *arena, size_t bytes)
{
    size_t capacity = arena->capacity ? arena->capacity * 2 : FIRST_BYTES;
    struct fg_arena_block *block;

    if (capacity > MOST_BYTES)
        capacity = MOST_BYTES;
    if (capacity < bytes)
        capacity = bytes;
    if (capacity > SIZE_MAX - sizeof(*block))
        return -1;
    block = malloc(sizeof(*block) + capacity);
    if (!block)
        return -1;
    block->next = arena->blocks;
    *arena = (struct fg_arena){.blocks = block, .capacity = capacity};
    return 0;
}

void *fg_arena_reserve(struct fg_arena *arena, size_t bytes, size_t alignment)
{
    size_t at = (arena->used + alignment - 1) & ~(alignment - 1);

    if (at <= arena->capacity && bytes <= arena->capacity - at && arena->blocks)
        arena->used = at;
    else if (add_block(arena, bytes) < 0)
        return NULL;
    return arena->blocks->data + arena->used;
}

void fg_arena_take(struct fg_arena *arena, size_t bytes)
{
    arena->used += bytes;
}

void fg_arena_free(struct fg_arena *arena)
{
    for (struct fg_arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    *arena = (struct fg_arena){0};
}
