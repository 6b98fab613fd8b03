/* A snapshot of a ring without a file: a second memory of the same size, the spare (ring_spare.h), and the
 * exchange of both.
 *
 * As in the kernel a snapshot is no copy. The spare takes the place of the ring's memory. That is the
 * snapshot from then on. While the ring records, the spare is emptied before. While it is paused, or has no
 * records, the spare keeps its records, so a further snapshot swaps back. Symbols stay with the ring: both
 * memories are read with them.
 *
 * A task may be in the middle of a record at that moment. It ends it in the snapshot. Its cursor has no room
 * there any longer, so its next record takes a sub-buffer of the ring's new memory. Only then does the task
 * leave its old one. So nobody waits for anybody, and any hook may take a snapshot.
 *
 * While somebody reads the ring or its snapshot, the two cannot be exchanged. The snapshot is due then, and
 * the reader takes it when it has finished. */
#ifndef FG_RING_SWAP_H
#define FG_RING_SWAP_H

#include "engine/writer/ring.h"

/* True if there is memory for snapshots. Takes the ring's lock. */
bool fg_ring_has_spare(struct fg_ring *ring);

/* Empties a spare. Both locks of its ring held. */
void fg_ring_spare_clear_locked(struct fg_ring *spare);

/**
 * fg_ring_swap() - Take a snapshot: at once, or when the ring's reader has finished.
 *
 * Without a spare nothing happens.
 *
 * Context: any hook that may take the ring's lock; takes it, and waits for nothing else.
 */
void fg_ring_swap(struct fg_ring *ring);

/* Has the next reader of the ring take a snapshot first. Any context. */
static inline void fg_ring_swap_later(struct fg_ring *ring)
{
    atomic_store(&ring->swap_is_due, true);
}

/* Takes a snapshot that is due. */
void fg_ring_swap_due(struct fg_ring *ring);

/**
 * fg_ring_copying_end() - Leave a section that held ring->copying, and take a snapshot that became due there.
 */
void fg_ring_copying_end(struct fg_ring *ring);

#endif
