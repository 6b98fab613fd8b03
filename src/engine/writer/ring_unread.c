/* See ring_unread.h. */
#include "engine/writer/ring_unread.h"

#include "engine/core/mutex.h"

bool fg_ring_has_unread_locked(const struct fg_ring *ring)
{
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        const struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);

        if (fg_ring_holds_records(subbuf) && atomic_load(&subbuf->commit) > subbuf->consumed)
            return true;
    }
    return false;
}

uint64_t fg_ring_written_bytes(struct fg_ring *ring)
{
    uint64_t bytes;

    fg_mutex_lock(&ring->lock);
    bytes = ring->pool.overwritten_bytes;
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        const struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);

        if (fg_ring_holds_records(subbuf))
            bytes += atomic_load(&subbuf->commit) - subbuf->consumed;
    }
    fg_mutex_unlock(&ring->lock);
    return bytes;
}

bool fg_ring_has_unread(struct fg_ring *ring)
{
    bool has_unread;

    fg_mutex_lock(&ring->lock);
    has_unread = fg_ring_has_unread_locked(ring);
    fg_mutex_unlock(&ring->lock);
    return has_unread;
}
