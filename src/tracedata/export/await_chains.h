/* Tasks of an event loop, found in slices: what awaits what.
 *
 * When a task waits, its coroutines suspend one after the other, the innermost first, and nothing else
 * happens in their thread in between:
 *
 *     thread                              track of the task
 *     begin  handler                      handler
 *       begin  fetch                        fetch
 *         begin  read_line                    read_line
 *         suspend read_line   \
 *       suspend fetch          > one chain, whose outermost call names the task
 *     suspend handler         /
 *     begin  other ...                    (they go on: they are waiting)
 *     resume handler ...
 *
 * So a run of suspends is a chain of awaits. Each chain that ends in a coroutine is on the track of that
 * coroutine's task, as calls which last from their first run to their end. */
#ifndef FG_AWAIT_CHAINS_H
#define FG_AWAIT_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "tracedata/export/slices.h"

/* What names a call across its suspends. A fork makes two calls of one: both are on one track. */
struct fg_chain_call {
    uint64_t call_ns;
    uint32_t func;
};

struct fg_chain {
    struct fg_chain_call *calls;
    size_t n, capacity;
};

/* Its calls in progress, the outermost first. */
struct fg_chain_track {
    uint64_t number; /* counts up from 0 */
    uint64_t last_ns;
    struct fg_chain open;
    size_t next_free; /* of a track without calls: place of the next one plus 1 */
};

/* Suspends of a thread, one right after the other: the innermost first. */
struct fg_chain_run {
    struct fg_chain calls;
    uint32_t depth; /* of the last one */
    uint64_t time_ns;
};

struct fg_chain_step {
    uint64_t time_ns;
    uint64_t track;
    uint32_t func;
    bool is_begin;
};

struct fg_new_track {
    uint64_t number;
    uint32_t thread, func;
};

struct fg_await_chains {
    size_t nr_functions;
    const uint8_t *func_flags; /* enum fg_func_flags of each; the caller's */
    struct fg_chain_run *runs; /* by thread */
    size_t nr_runs;
    struct fg_chain_track *tracks;
    size_t nr_tracks, tracks_capacity;
    size_t first_free;            /* place of a track without calls plus 1 */
    struct fg_hash_table by_call; /* place in `tracks` plus 1, of each call that is on one */
    uint64_t next_number;
    /* What is new; the caller takes it and sets the counts to 0. */
    struct fg_chain_step *steps;
    size_t nr_steps, steps_capacity;
    struct fg_new_track *new_tracks;
    size_t nr_new_tracks, new_tracks_capacity;
};

void fg_await_chains_free(struct fg_await_chains *chains);

/* Adds the steps that slices make. `at_end`: no more slices follow. Return: 0 or -ENOMEM. */
int fg_await_chains_add(struct fg_await_chains *chains, const struct fg_slices *slices, bool at_end);

#endif
