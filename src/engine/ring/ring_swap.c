/* See ring_swap.h. */
#include "engine/ring/ring_swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ring/ring_buffer.h"
#include "engine/ring/ring_copy.h"
#include "engine/ring/ring_file.h"
#include "engine/ring/ring_pool.h"
#include "engine/ring/ring_symbols.h"

/* Two mappings may lie beside each other, and the sub-buffers of one do not begin at a page boundary. */
static bool holds(const struct fg_ring *ring, const struct fg_subbuf *subbuf)
{
    uintptr_t at = (uintptr_t)subbuf, begin = (uintptr_t)ring->data;

    return at >= begin && at - begin < (size_t)ring->header->nr_subbufs * ring->header->subbuf_bytes;
}

struct fg_ring *fg_ring_home(struct fg_ring *ring, const struct fg_subbuf *subbuf)
{
    return ring->spare && holds(ring->spare, subbuf) ? ring->spare : ring;
}

static struct fg_ring *spare_new(const struct fg_ring *ring)
{
    const struct fg_ring_config config = {.buffer_bytes = ring->buffer_bytes, .mode = ring->mode};
    struct fg_ring *spare = malloc(sizeof(*spare));

    if (spare && fg_ring_open(spare, &config) == 0) {
        memcpy(spare->instance, ring->instance, sizeof(spare->instance));
        return spare;
    }
    free(spare);
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
    pthread_mutex_lock(&ring->lock);
    ring->spare = spare; /* one thread at a time changes an instance */
    ring->has_parted = false;
    atomic_store(&ring->swap_is_due, false);
    pthread_mutex_unlock(&ring->lock);
    return 0;
}

void fg_ring_spare_part(struct fg_ring *ring)
{
    pthread_mutex_lock(&ring->lock);
    ring->has_parted = true;
    pthread_mutex_unlock(&ring->lock);
}

void fg_ring_spare_drop(struct fg_ring *ring)
{
    if (!ring->spare)
        return;
    fg_ring_forget(ring->spare);
    free(ring->spare);
    ring->spare = NULL;
}

void fg_ring_spare_free(struct fg_ring *ring)
{
    pthread_mutex_lock(&ring->copying);
    pthread_mutex_lock(&ring->lock);
    if (ring->spare) {
        fg_ring_retire_owners(ring, ring->spare);
        fg_ring_spare_drop(ring);
    }
    pthread_mutex_unlock(&ring->lock);
    pthread_mutex_unlock(&ring->copying);
}

bool fg_ring_has_spare(struct fg_ring *ring)
{
    bool has_spare;

    pthread_mutex_lock(&ring->lock);
    has_spare = ring->spare != NULL;
    pthread_mutex_unlock(&ring->lock);
    return has_spare;
}

static void clear_spare(struct fg_ring *spare)
{
    fg_ring_clear_locked(spare);
    fg_ring_forget_symbols(spare);
}

void fg_ring_spare_clear(struct fg_ring *ring)
{
    fg_ring_swap_due(ring);
    pthread_mutex_lock(&ring->copying);
    pthread_mutex_lock(&ring->lock);
    if (ring->spare)
        clear_spare(ring->spare);
    pthread_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
}

#define EXCHANGE(a, b)                                                                                       \
    do {                                                                                                     \
        __typeof__(a) kept = (a);                                                                            \
                                                                                                             \
        (a) = (b);                                                                                           \
        (b) = kept;                                                                                          \
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
 * told apart by their numbers. */
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

/* A ring that has no memory yet has nothing to keep: its snapshot is empty. */
static void swap_locked(struct fg_ring *ring)
{
    struct fg_ring *spare = ring->spare;

    if (!spare || ring->has_parted)
        return;
    clear_spare(spare);
    if (!ring->header)
        return;
    fg_ring_retire_shared(ring);
    exchange(ring, spare);
    carry_on(ring, spare);
    fg_ring_set_room(spare, false);
}

/* The fence pairs with the one of another thread here: either it takes the lock after this thread has let go
 * of it, or this thread sees that a snapshot is due. */
void fg_ring_swap_due(struct fg_ring *ring)
{
    for (;;) {
        atomic_thread_fence(memory_order_seq_cst);
        if (!atomic_load(&ring->swap_is_due) || pthread_mutex_trylock(&ring->copying) != 0)
            return;
        pthread_mutex_lock(&ring->lock);
        if (!atomic_load(&ring->moves) && atomic_exchange(&ring->swap_is_due, false))
            swap_locked(ring);
        pthread_mutex_unlock(&ring->lock);
        pthread_mutex_unlock(&ring->copying);
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
    pthread_mutex_unlock(&ring->copying);
    fg_ring_swap_due(ring);
}

void fg_ring_spare_keep_symbols(struct fg_ring *ring)
{
    struct fg_ring *spare = ring->spare;

    if (!spare || !ring->header || !ring->symbols.memory || spare->symbols.memory)
        return;
    atomic_store(&spare->header->symbols_committed, atomic_load(&ring->header->symbols_committed));
    atomic_store(&spare->header->symbols_lost, atomic_load(&ring->header->symbols_lost));
    spare->symbols = ring->symbols;
    ring->symbols = (struct fg_ring_symbols){0};
}
