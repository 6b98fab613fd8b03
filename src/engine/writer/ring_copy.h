/* Reading by the process itself. A ring without a file is copied to a finished ring-buffer file
 * (ring_layout.h), which ring_reader.h reads like any other. Tasks may write to the ring meanwhile. */
#ifndef FG_RING_COPY_H
#define FG_RING_COPY_H

#include "engine/writer/ring.h"

struct fg_ring_copy_options {
    bool consumes; /* no later copy has these records or reports their losses again */
    /* Ticks: only sub-buffers that may hold a record of this window. They are copied whole, so the copy
     * also has records outside of it. end 0: all sub-buffers. */
    uint64_t begin, end;
};

/**
 * fg_ring_copy() - Copy the records of a ring without a file.
 * @fd: an empty file
 *
 * Times in the copy are nanoseconds of CLOCK_MONOTONIC, whatever the ring's clock is. The copy of a
 * closed ring, and of any ring in a forked child, is empty.
 *
 * Return: bytes of records in the copy, or a negative errno. On an error a consumer has lost only what
 * this copy would have held.
 * Context: takes the ring's locks.
 */
int64_t fg_ring_copy(struct fg_ring *ring, int fd, const struct fg_ring_copy_options *options);

/**
 * fg_ring_copy_snapshot() - Copy the records of a ring's snapshot (ring_swap.h).
 * @fd: an empty file
 *
 * A snapshot that is due is taken first. None is taken while this one is copied.
 *
 * Return: as fg_ring_copy(); -ENOENT: the ring has no memory for snapshots.
 * Context: takes the ring's locks.
 */
int64_t fg_ring_copy_snapshot(struct fg_ring *ring, int fd);

/* Drops all records and all counts of lost ones. Takes the ring's locks. */
void fg_ring_clear(struct fg_ring *ring);

#endif
