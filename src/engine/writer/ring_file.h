/* Creating a ring buffer: a file in the session's directory, or anonymous memory; at once, or with the
 * first record, as a forked child's own file. */
#ifndef FG_RING_FILE_H
#define FG_RING_FILE_H

#include "engine/writer/ring.h"

/**
 * fg_ring_open() - Create and map a ring's memory; a file gets its final name.
 * @ring: not used before
 *
 * Return: 0 or a negative errno, and then nothing is left over. -EINVAL: too small, too large, or a mode
 * that waits for a recorder without a file.
 */
int fg_ring_open(struct fg_ring *ring, const struct fg_ring_config *config);

/**
 * fg_ring_forget() - Unmap the memory and free the pool; the configuration stays.
 *
 * Context: ring's lock held.
 */
void fg_ring_forget(struct fg_ring *ring);

/* Unmaps the memory for snapshots, if there is any: no task writes there, or it is the parent's. Ring's lock
 * held. */
void fg_ring_forget_spare(struct fg_ring *ring);

/**
 * fg_ring_empty() - Drop a ring's memory; its next record creates it again.
 * @ring: a ring without a file
 *
 * Context: takes both locks of @ring. No task may write with a cursor meanwhile.
 */
void fg_ring_empty(struct fg_ring *ring);

/* True if the ring has no memory yet, and its first record creates it. */
static inline bool fg_ring_is_unopened(const struct fg_ring *ring)
{
    return atomic_load(&ring->reopen) == FG_RING_TO_REOPEN;
}

/**
 * fg_ring_adopt() - Replace a ring's memory by that of @fresh.
 * @fresh: an open ring that was never written to; not to be used afterwards
 *
 * Neither ring has a file.
 *
 * Context: takes both locks of @ring. No task may write meanwhile.
 */
void fg_ring_adopt(struct fg_ring *ring, struct fg_ring *fresh);
/* As fg_ring_adopt(), with both locks held. */
void fg_ring_adopt_locked(struct fg_ring *ring, struct fg_ring *fresh);

/**
 * fg_ring_fork_child() - Drop the parent's file in a forked child, without touching it.
 * @follow: the child's first record opens a file of its own; otherwise the child records nothing
 *
 * Context: ring's lock held (by the fork handlers).
 */
void fg_ring_fork_child(struct fg_ring *ring, bool follow);

/**
 * fg_ring_reopen() - Open a ring that is not open yet, or wait for the thread that does.
 *
 * Without memory or room, or after the session ended, the ring takes no records.
 *
 * Context: takes the ring's lock.
 */
void fg_ring_reopen(struct fg_ring *ring);

#endif
