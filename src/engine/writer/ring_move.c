/* See ring_move.h. */
#include "engine/writer/ring_move.h"

#include <string.h>

#include "engine/core/mutex.h"
#include "engine/ring/record.h"
#include "engine/writer/ring_buffer.h"
#include "engine/writer/ring_file.h"
#include "engine/writer/ring_pool.h"
#include "engine/writer/ring_swap.h"

/* Counts and symbols. A symbol is put once, so those put before the move belong to the new memory. */
static void move_head(struct fg_ring *to, struct fg_ring *from)
{
    struct fg_ring_header *head = to->header;
    const struct fg_ring_header *old = from->header;

    head->clock_start = old->clock_start;
    memcpy(head->killed, old->killed, sizeof(head->killed));
    to->symbols = from->symbols;
    from->symbols = (struct fg_ring_symbols){0};
#define X(count) atomic_store(&head->count, atomic_load(&old->count));
    X(symbols_committed)
    X(symbols_lost)
    X(nr_tasks)
    X(overrun)
    X(records_lost)
#undef X
    to->pool.lost_consumed = from->pool.lost_consumed;
    to->pool.overwritten_bytes = from->pool.overwritten_bytes;
}

/* How many bytes of whole records fit into `room`. */
static uint64_t fitting(const uint8_t *records, uint64_t bytes, uint64_t room)
{
    uint64_t fit = 0;

    while (fit < bytes) {
        uint64_t next = fit + 8 * fg_record_words(((const struct fg_record *)(records + fit))->info);

        if (next > room)
            break;
        fit = next;
    }
    return fit;
}

static void move_records(struct fg_ring *to, const struct fg_subbuf *from)
{
    const uint64_t room = to->header->subbuf_bytes - sizeof(*from);
    const uint8_t *records = (const uint8_t *)(from + 1) + from->consumed;
    uint64_t left = atomic_load(&from->commit) - from->consumed, lost = atomic_load(&from->lost);

    while (left) {
        uint64_t bytes = fitting(records, left, room);

        fg_ring_put_full(to, from->task, records, bytes, lost);
        records += bytes;
        left -= bytes;
        lost = 0;
    }
    fg_ring_put_loss(to, from->task, lost);
}

static void move_all(struct fg_ring *to, struct fg_ring *from)
{
    const struct fg_ring_header *header = from->header;
    uint64_t head = atomic_load(&header->full_head);

    move_head(to, from);
    for (uint64_t at = atomic_load(&header->full_tail); at != head; at++)
        move_records(to, fg_ring_subbuf(from, atomic_load(&from->full_queue[at % header->nr_subbufs])));
    for (uint32_t i = 0; i < FG_RING_ORPHANS; i++)
        fg_ring_put_loss(to, from->pool.orphans[i].task, from->pool.orphans[i].lost);
}

void fg_ring_move_begin(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->lock);
    atomic_store(&ring->moves, true);
    fg_ring_set_room(ring, false);
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_move_end(struct fg_ring *ring, struct fg_ring *fresh)
{
    bool had_memory;

    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    had_memory = ring->header != NULL;
    if (had_memory) {
        fg_ring_retire_all_locked(ring);
        move_all(fresh, ring);
    }
    fg_ring_adopt_locked(ring, fresh);
    atomic_store(&ring->moves, false);
    fg_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
    if (!had_memory && ring->reopened) /* a fork's child: its parent has the symbols */
        ring->reopened(ring);
}
