/* The memory for snapshots of a ring without a file (ring_swap.h): getting, emptying and freeing it. */
#ifndef FG_RING_SPARE_H
#define FG_RING_SPARE_H

#include "engine/writer/ring.h"

/**
 * fg_ring_spare_alloc() - Give a ring the memory for snapshots, of its own size.
 *
 * Return: 0, also if it has it already; -EBUSY: a ring with a file; -ENOMEM.
 * Context: takes the ring's locks. One thread at a time.
 */
int fg_ring_spare_alloc(struct fg_ring *ring);

/**
 * fg_ring_spare_part() - Take no further snapshots: the first half of freeing the spare.
 *
 * Context: takes the ring's lock.
 */
void fg_ring_spare_part(struct fg_ring *ring);

/**
 * fg_ring_spare_free() - Free the memory for snapshots, with the snapshot; there may be none.
 *
 * Context: takes the ring's locks. Each callback that ran at fg_ring_spare_part() has ended.
 */
void fg_ring_spare_free(struct fg_ring *ring);

/* Empties the snapshot. Takes the ring's locks. */
void fg_ring_spare_clear(struct fg_ring *ring);

#endif
