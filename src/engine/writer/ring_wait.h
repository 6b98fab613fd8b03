/* Waiting for records of a ring that its own process reads (ring_copy.h). Writers' side: ring_wake.h. */
#ifndef FG_RING_WAIT_H
#define FG_RING_WAIT_H

#include "engine/writer/ring_wake.h"

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
 * Context: as fg_ring_await(). The caller holds the ring's instance.
 */
int fg_ring_wait(struct fg_ring *ring, uint32_t seen, unsigned timeout_ms);

#endif
