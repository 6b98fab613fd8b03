/* Which sub-buffers of a ring have records, whether any are unread, and how much was written. */
#ifndef FG_RING_UNREAD_H
#define FG_RING_UNREAD_H

#include "engine/writer/ring.h"

/* True if the sub-buffer is full or somebody writes into it. Ring's lock held. */
static inline bool fg_ring_holds_records(const struct fg_subbuf *subbuf)
{
    uint32_t state = atomic_load_explicit(&subbuf->state, memory_order_relaxed);

    return state == FG_SUBBUF_FULL || state == FG_SUBBUF_OWNED;
}

/* How many bytes of records were written that no consumer had: those that one would find, and those that were
 * overwritten since the ring was last cleared. Takes the ring's lock. */
uint64_t fg_ring_written_bytes(struct fg_ring *ring);
/* True if a consumer would find records. Takes the ring's lock. */
bool fg_ring_has_unread(struct fg_ring *ring);
/* The same, with the ring's lock held. */
bool fg_ring_has_unread_locked(const struct fg_ring *ring);

#endif
