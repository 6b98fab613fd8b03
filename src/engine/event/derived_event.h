/* Events that the hits of other events make: synthetic ones, and those on the fields of another event. */
#ifndef FG_DERIVED_EVENT_H
#define FG_DERIVED_EVENT_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/event/event.h"
#include "engine/event/image.h"

/* A hit makes an event, which makes another one, and so on: at most so many, each event once. */
#define FG_MADE_EVENT_MAX_CHAIN 4u

struct fg_derived_event {
    struct fg_hist_sink sink; /* for actions */
    /* Its owner sets it to NULL, waits for callbacks, then frees the event: a trigger may still name it. */
    _Atomic(struct fg_event *) event;
    struct fg_image_form form;
    _Atomic uint64_t nmissed; /* how often it would have made itself, or the chain was too long */
};

/* Prepares one whose form is laid out, and whose other members are zeros. */
void fg_derived_event_init(struct fg_derived_event *made);

/* True if making it has any effect. Inside the guard. */
static inline bool fg_derived_event_is_enabled(const struct fg_derived_event *made)
{
    /* acquire: pairs with the owner's store */
    struct fg_event *event = atomic_load_explicit(&made->event, memory_order_acquire);

    return event && fg_event_is_enabled(event);
}

/**
 * fg_derived_event_hit() - Make the event.
 * @site: of the hit that makes it
 * @values: one for each field
 *
 * Context: inside the guard of site->task, the calling thread's.
 */
void fg_derived_event_hit(struct fg_derived_event *made, const struct fg_event_site *site,
                          const struct fg_loaded *values);

#endif
