/* The threads whose hits an instance sees: the kernel's set_event_pid and set_event_notrace_pid. */
#ifndef FG_EVENT_TIDS_H
#define FG_EVENT_TIDS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "engine/graph/filter.h"
#include "engine/tracer/instance.h"

struct fg_event_tids {
    struct fg_tids *only;  /* hits in these threads; NULL: in all */
    struct fg_tids *never; /* but not in these; NULL: none */
};

/**
 * fg_event_tids_exchange() - Replace the threads whose hits an instance sees.
 * @only, @never: as in the struct; the instance's to free, on success
 *
 * When it returns, no hit is judged by the old ones.
 *
 * Return: 0 or -ENOMEM; with two NULL always 0.
 * Context: the caller may change the instance, or stops it; no lock of the engine held.
 */
int fg_event_tids_exchange(struct fg_instance *instance, struct fg_tids *only, struct fg_tids *never);

bool fg_event_tids_have(const struct fg_event_tids *tids, int tid);

/* True if the instance sees hits in the thread. Inside the guard. */
static inline bool fg_event_is_seen_in(struct fg_instance *instance, int tid)
{
    /* acquire: pairs with the exchange; the guard keeps it from being freed */
    const struct fg_event_tids *tids = atomic_load_explicit(&instance->event_tids, memory_order_acquire);

    return fg_likely(!tids) || fg_event_tids_have(tids, tid);
}

#endif
