/* Emptying a ring that the process itself reads, while tasks write to it. */
#ifndef FG_RING_CLEAR_H
#define FG_RING_CLEAR_H

#include "engine/writer/ring.h"

/* Frees the full sub-buffers whose records are all consumed. Ring's lock held. */
void fg_ring_free_consumed(struct fg_ring *ring);

/**
 * fg_ring_clear_locked() - Drop all records and all counts of lost ones.
 * @ring: a ring that is open
 *
 * Tasks keep the sub-buffers that they own.
 *
 * Context: both locks of the ring held.
 */
void fg_ring_clear_locked(struct fg_ring *ring);

#endif
