/* See ring_spare.h. */
#include "engine/writer/ring_spare.h"

#include <errno.h>
#include <string.h>

#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"
#include "engine/writer/ring_buffer.h"
#include "engine/writer/ring_file.h"
#include "engine/writer/ring_swap.h"

static struct fg_ring *spare_new(const struct fg_ring *ring)
{
    const struct fg_ring_config config = {.buffer_bytes = ring->buffer_bytes, .mode = ring->mode};
    struct fg_ring *spare = fg_mmap_alloc(sizeof(*spare));

    if (spare && fg_ring_open(spare, &config) == 0) {
        memcpy(spare->instance, ring->instance, sizeof(spare->instance));
        return spare;
    }
    fg_mmap_free(spare);
    return NULL;
}

int fg_ring_spare_alloc(struct fg_ring *ring)
{
    struct fg_ring *spare;

    if (ring->directory)
        return -EBUSY;
    if (fg_ring_has_spare(ring))
        return 0;
    spare = spare_new(ring);
    if (!spare)
        return -ENOMEM;
    fg_mutex_lock(&ring->lock);
    ring->spare = spare; /* one thread at a time changes an instance */
    ring->has_parted = false;
    atomic_store(&ring->swap_is_due, false);
    fg_mutex_unlock(&ring->lock);
    return 0;
}

void fg_ring_spare_part(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->lock);
    ring->has_parted = true;
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_spare_free(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    if (ring->spare) {
        fg_ring_retire_owners(ring, ring->spare);
        fg_ring_forget_spare(ring);
    }
    fg_mutex_unlock(&ring->lock);
    fg_mutex_unlock(&ring->copying);
}

void fg_ring_spare_clear(struct fg_ring *ring)
{
    fg_ring_swap_due(ring);
    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    if (ring->spare)
        fg_ring_spare_clear_locked(ring->spare);
    fg_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
}
