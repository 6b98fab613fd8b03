/* Symbols: what a reader needs to know of functions, tasks and the process. Appended to the
 * ring, never changed. */
#ifndef FG_RING_SYMBOLS_H
#define FG_RING_SYMBOLS_H

#include "engine/ring/ring.h"

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

#endif
