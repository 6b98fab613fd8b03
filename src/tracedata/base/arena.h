/* An arena: room for many small things that are freed together. They lie one after the other in large blocks,
 * and never move. malloc() would add 16 bytes to each, and a trace can name millions of functions. */
#ifndef FG_ARENA_H
#define FG_ARENA_H

#include <stddef.h>

struct fg_arena_block;

struct fg_arena {
    struct fg_arena_block *blocks; /* the latest first */
    size_t used, capacity;         /* of the latest block */
};

/**
 * fg_arena_reserve() - Make room for the next thing.
 * @alignment: of its place, a power of two, at most that of a pointer
 *
 * The room stays free until fg_arena_take(): whoever does not need it reserves again.
 *
 * Return: the room; NULL: memory is short.
 */
void *fg_arena_reserve(struct fg_arena *arena, size_t bytes, size_t alignment);

/* Keeps @bytes of what was reserved last. */
void fg_arena_take(struct fg_arena *arena, size_t bytes);

/* Frees everything; the arena is then empty. */
void fg_arena_free(struct fg_arena *arena);

#endif
