/* The threads whose hits an instance sees: the kernel's set_event_pid and set_event_notrace_pid. */
#ifndef FG_EVENT_TIDS_H
#define FG_EVENT_TIDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/graph/filter.h"
#include "engine/tracer/instance.h"

/**
 * fg_event_tids_exchange() - Replace the threads whose hits an instance sees.
 * @tids: the instance's to free; NULL: all threads
 *
 * When it returns, no hit is judged by the old ones.
 *
 * Context: the caller may change the instance, or stops it; no lock of the engine held.
 */
void fg_event_tids_exchange(struct fg_instance *instance, struct fg_tids *tids);

/* True if the instance sees hits in the thread. Inside the guard. */
static inline bool fg_event_is_seen_in(struct fg_instance *instance, int tid)
{
    /* acquire: pairs with the exchange; the guard keeps it from being freed */
    const struct fg_tids *tids = atomic_load_explicit(&instance->event_tids, memory_order_acquire);

    return fg_likely(!tids) || fg_tids_has(tids, tid);
}

#endif
