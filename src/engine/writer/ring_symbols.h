/* Symbols: what a reader needs to know of functions, tasks and the process. Appended to the
 * ring, never changed. */
#ifndef FG_RING_SYMBOLS_H
#define FG_RING_SYMBOLS_H

#include "engine/writer/ring.h"

/**
 * fg_ring_map_symbols() - Allocate and map the part of a file's symbol area that is written to next.
 * @fd: the ring's file
 * @from: where the next symbol begins in the area
 * @bytes: the size of that symbol
 *
 * Return: 0 or a negative errno, and then the part that was mapped still is.
 * Context: ring's lock held, or the ring is not open yet.
 */
int fg_ring_map_symbols(struct fg_ring *ring, int fd, uint64_t from, uint64_t bytes);

/* Unmaps or frees the memory of the symbols. Context: as fg_ring_map_symbols(). */
void fg_ring_forget_symbols(struct fg_ring *ring);

/* Before the symbols of a ring without a file are freed: its snapshot (ring_swap.h) keeps them. Ring's lock
 * held. */
void fg_ring_keep_symbols(struct fg_ring *ring);

/**
 * fg_ring_put_symbol() - Append a symbol; counted as lost if there is no room.
 * @strings: @symbol->nr_strings NUL-terminated texts
 *
 * Context: takes the ring's lock.
 */
void fg_ring_put_symbol(struct fg_ring *ring, const struct fg_symbol *symbol, const char *const strings[]);

/**
 * fg_ring_put_task_symbol() - Append the symbol of a task, with its present name.
 *
 * Context: ring's lock held.
 */
void fg_ring_put_task_symbol(struct fg_ring *ring, const struct fg_task *task);

/**
 * fg_ring_put_run_time() - Append how long a task's thread has run so far, for a recorder.
 *
 * Context: ring's lock held. Any thread of the process may call it.
 */
void fg_ring_put_run_time(struct fg_ring *ring, const struct fg_task *task);

#endif
