/* Waiting for records of a ring that its own process reads (ring_copy.h).
 *
 * Writers do nothing for a reader that waits, not even a load. A reader that begins to wait arms the ring: it
 * takes the room from each cursor, so the next record of each task goes through fg_ring_switch(). That gives
 * the room back and wakes the readers:
 *
 *     reader                                   a task
 *     awaited = true, cursor->end = armed
 *     fence_heavy                              enters the guard
 *     sees no record, and each task quiet      sees no room: end = what it was, awaited = false, wakes++
 *     sleeps until `wakes` changes             writes its record
 *
 * An armed end is half the real one. It is below every position, so no record fits, and the task finds the
 * real one without the ring's lock: also in a handler of a signal. */
#ifndef FG_RING_WAIT_H
#define FG_RING_WAIT_H

#include "engine/ring/ring_buffer.h"

enum fg_ring_news {
    FG_RING_NEWS, /* look again: there are records, or the ring was read, paused, resumed or closed */
    FG_RING_BUSY, /* a task may be writing a record: ask again soon */
    FG_RING_IDLE, /* no news until `wakes` changes */
};

/**
 * fg_ring_await() - Ask whether there is news, and have the next news wake whoever waits.
 * @seen: fg_ring_wakes() before the caller last looked for records
 *
 * Context: takes the ring's lock. Any thread, also one that is no task.
 */
enum fg_ring_news fg_ring_await(struct fg_ring *ring, uint32_t seen);

/**
 * fg_ring_wait() - Wait for news.
 * @seen: as for fg_ring_await()
 * @timeout_ms: for how long at most
 *
 * Return: 0: there is news; -ETIMEDOUT; -EINTR: a handler of a signal ran.
 * Context: as fg_ring_await(). The ring stays open meanwhile, or the caller holds its instance.
 */
int fg_ring_wait(struct fg_ring *ring, uint32_t seen, unsigned timeout_ms);

/* Counts the news of which readers were told. */
static inline uint32_t fg_ring_wakes(const struct fg_ring *ring)
{
    /* acquire: whoever sees the count sees what the news is */
    return atomic_load_explicit(&ring->wakes, memory_order_acquire);
}

/* There is news: has every reader that waits look again. Safe in a handler of a signal. */
FG_COLD void fg_ring_wake(struct fg_ring *ring);

/* The same, if a reader waits. For each record that is not written by a cursor with room. */
static inline void fg_ring_wake_awaited(struct fg_ring *ring)
{
    if (fg_unlikely(atomic_load_explicit(&ring->awaited, memory_order_relaxed)))
        fg_ring_wake(ring);
}

/**
 * fg_ring_disarm() - Give a cursor its room back, if fg_ring_await() took it, and wake the readers.
 *
 * Return: true if a record of @bytes now has room.
 * Context: inside the guard. Takes no lock, and is safe in a handler of a signal.
 */
FG_COLD bool fg_ring_disarm(struct fg_ring *ring, struct fg_ring_cursor *cursor, size_t bytes);

/**
 * fg_ring_on_wake() - Have a function called whenever a ring wakes its readers.
 * @woken: safe in a handler of a signal, takes no lock; NULL: none
 */
void fg_ring_on_wake(void (*woken)(void));

#endif
