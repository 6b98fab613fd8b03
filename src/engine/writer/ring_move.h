/* Changing the size of a ring without a file, in two steps. Records between the two are
 * lost, and counted. */
#ifndef FG_RING_MOVE_H
#define FG_RING_MOVE_H

#include "engine/writer/ring.h"

/**
 * fg_ring_move_begin() - Count records as lost from now on.
 *
 * Context: takes the ring's lock.
 */
void fg_ring_move_begin(struct fg_ring *ring);

/**
 * fg_ring_move_end() - Replace a ring's memory by that of @fresh, and move its contents there.
 * @fresh: as for fg_ring_adopt()
 *
 * Symbols and counts move, and as many records as there is room for, by the ring's mode. A ring without
 * memory has none of them: its reopened function writes the symbols.
 *
 * Context: takes the ring's locks, and those of the reopened function. Each callback that ran at
 * fg_ring_move_begin() has ended.
 */
void fg_ring_move_end(struct fg_ring *ring, struct fg_ring *fresh);

#endif
