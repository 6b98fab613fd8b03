/* See ring_swap.h. */
#include "engine/writer/ring_swap.h"

#include <string.h>

#include "engine/core/mutex.h"
#include "engine/writer/ring_clear.h"
#include "engine/writer/ring_pool.h"
#include "engine/writer/ring_symbols.h"
#include "engine/writer/ring_unread.h"
#include "engine/writer/ring_wake.h"

bool fg_ring_has_spare(struct fg_ring *ring)
{
    bool has_spare;

    fg_mutex_lock(&ring->lock);
    has_spare = ring->spare != NULL;
    fg_mutex_unlock(&ring->lock);
    return has_spare;
}

/* The spare's own symbols go with its records. */
void fg_ring_spare_clear_locked(struct fg_ring *spare)
{
    fg_ring_clear_locked(spare);
    fg_ring_forget_symbols(spare);
}

#define EXCHANGE(a, b)                                                                                       \
    do {                                                                                                     \
        __typeof__(a) former = (a);                                                                          \
                                                                                                             \
        (a) = (b);                                                                                           \
        (b) = former;                                                                                        \
    } while (0)

static void exchange(struct fg_ring *ring, struct fg_ring *spare)
{
    EXCHANGE(ring->header, spare->header);
    EXCHANGE(ring->full_queue, spare->full_queue);
    EXCHANGE(ring->free_queue, spare->free_queue);
    EXCHANGE(ring->data, spare->data);
    EXCHANGE(ring->header_mapping_bytes, spare->header_mapping_bytes);
    EXCHANGE(ring->data_mapping_bytes, spare->data_mapping_bytes);
    EXCHANGE(ring->pool, spare->pool);
}

/* What goes with the symbols: the new memory has those of the ring, too. Sub-buffers of both memories are
 * distinguished by their numbers. */
static void carry_on(struct fg_ring *ring, struct fg_ring *spare)
{
    struct fg_ring_header *head = ring->header;
    const struct fg_ring_header *old = spare->header;

    head->clock_start = old->clock_start;
    memcpy(head->killed, old->killed, sizeof(head->killed));
#define X(count) atomic_store(&head->count, atomic_load(&old->count));
    X(symbols_committed)
    X(symbols_lost)
    X(nr_tasks)
#undef X
    ring->pool.next_seq = spare->pool.next_seq;
    EXCHANGE(ring->pool.sharers, spare->pool.sharers);
    EXCHANGE(ring->pool.nr_sharer_words, spare->pool.nr_sharer_words);
}

/* A spare with symbols of its own was filled before the ring was emptied: its records cannot go back. */
static bool can_go_back(const struct fg_ring *ring, const struct fg_ring *spare)
{
    return ring->header && !spare->symbols.memory;
}

/* The snapshot is dropped if new records take its place while the ring goes on recording. Otherwise it goes
 * back into the ring, or stays: hits that come when nothing is recorded any longer destroy nothing. */
static void swap_locked(struct fg_ring *ring)
{
    struct fg_ring *spare = ring->spare;
    bool has_new, goes_back;

    if (!spare || ring->has_parted)
        return;
    has_new = ring->header && fg_ring_has_unread_locked(ring);
    goes_back = (atomic_load(&ring->paused) || !has_new) && can_go_back(ring, spare);
    if (!has_new && !goes_back)
        return;
    if (!goes_back)
        fg_ring_spare_clear_locked(spare);
    fg_ring_retire_shared(ring);
    exchange(ring, spare);
    carry_on(ring, spare);
    fg_ring_set_room(spare, false);
    fg_ring_wake_awaited(ring); /* records that came back are news */
}

/* The fence pairs with the one of another thread here: either it takes the lock after this thread has let go
 * of it, or this thread sees that a snapshot is due. */
void fg_ring_swap_due(struct fg_ring *ring)
{
    for (;;) {
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load(&ring->swap_is_due) || !fg_mutex_trylock(&ring->copying))
            return;
        fg_mutex_lock(&ring->lock);
        if (!atomic_load(&ring->moves) && atomic_exchange(&ring->swap_is_due, false))
            swap_locked(ring);
        fg_mutex_unlock(&ring->lock);
        fg_mutex_unlock(&ring->copying);
        if (atomic_load(&ring->moves))
            return; /* who moves the ring takes the snapshot (ring_move.c) */
    }
}

void fg_ring_swap(struct fg_ring *ring)
{
    fg_ring_swap_later(ring);
    fg_ring_swap_due(ring);
}

void fg_ring_copying_end(struct fg_ring *ring)
{
    fg_mutex_unlock(&ring->copying);
    fg_ring_swap_due(ring);
}
