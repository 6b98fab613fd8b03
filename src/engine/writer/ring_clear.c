/* See ring_clear.h. */
#include "engine/writer/ring_clear.h"

#include <string.h>

void fg_ring_free_consumed(struct fg_ring *ring)
{
    struct fg_ring_header *header = ring->header;
    uint64_t tail = header ? atomic_load(&header->full_tail) : 0,
             head = header ? atomic_load(&header->full_head) : 0;
    uint64_t new_head = tail;

    for (uint64_t at = tail; at != head; at++) {
        uint32_t index = atomic_load(&ring->full_queue[at % header->nr_subbufs]);
        struct fg_subbuf *subbuf = fg_ring_subbuf(ring, index);

        if (subbuf->consumed == atomic_load(&subbuf->commit)) {
            atomic_store(&subbuf->state, FG_SUBBUF_FREE);
            ring->pool.free[ring->pool.nr_free++] = index;
        } else {
            atomic_store(&ring->full_queue[new_head++ % header->nr_subbufs], index);
        }
    }
    if (header)
        atomic_store(&header->full_head, new_head);
}

void fg_ring_clear_locked(struct fg_ring *ring)
{
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);

        subbuf->consumed = atomic_load_explicit(&subbuf->commit, memory_order_acquire);
        subbuf->lost_in_copy = 0;
        atomic_store(&subbuf->lost, 0);
        if (ring->pool.owners[i].cursor)
            ring->pool.owners[i].cursor->lost = 0;
    }
    memset(ring->pool.orphans, 0, sizeof(ring->pool.orphans));
    fg_ring_free_consumed(ring);
    ring->pool.lost_consumed = ring->pool.overwritten_bytes = 0;
    atomic_store(&ring->header->records_lost, 0);
    atomic_store(&ring->header->overrun, 0);
}
