/* How writers wake readers that wait for records of a ring (ring_wait.h).
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
#ifndef FG_RING_WAKE_H
#define FG_RING_WAKE_H

#include "engine/base/compiler.h"
#include "engine/writer/ring.h"

/* Counts the news of which readers were notified. */
static inline uint32_t fg_ring_wakes(const struct fg_ring *ring)
{
    /* acquire: whoever sees the count sees what the news is */
    return atomic_load_explicit(&ring->wakes, memory_order_acquire);
}

/* There is news: has every reader that waits look again. Safe in a handler of a signal. */
FG_COLD void fg_ring_wake(struct fg_ring *ring);

/* The same, if a reader waits: for a record that is written with the ring's lock, or after it was held. */
static inline void fg_ring_wake_awaited(struct fg_ring *ring)
{
    if (fg_unlikely(atomic_load_explicit(&ring->awaited, memory_order_relaxed)))
        fg_ring_wake(ring);
}

/* Takes the room from each cursor, and has the next record wake the readers. Ring's lock held. */
void fg_ring_arm_locked(struct fg_ring *ring);

/**
 * fg_ring_disarm() - Give a cursor its room back, if fg_ring_arm_locked() took it, and wake the readers.
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
