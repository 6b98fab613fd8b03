/* Reading by the process itself: a copy of what a ring without a file holds, as a ring-buffer file that is finished
 * (ring_layout.h): ring_reader.c and all above it read it as any other. Others write meanwhile. */
#ifndef FG_RING_COPY_H
#define FG_RING_COPY_H

#include "engine/ring/ring_buffer.h"

struct fg_ring_copy_options {
    bool consumes; /* what is in the copy is in no later one, and its losses are told in no later one */
    /* Ticks. Only sub-buffers that may hold a record of this time: whole ones, so there is more in it. end 0: all. */
    uint64_t begin, end;
};

/* Writes the copy to an empty file; its times are nanoseconds of CLOCK_MONOTONIC, whatever the ring's are. Returns bytes of records in it, or a negative errno; a consumer has lost nothing
 * then but what was to be in this copy. In a forked child, and of a ring that is closed, it is empty. */
int64_t fg_ring_copy(struct fg_ring *ring, int fd, const struct fg_ring_copy_options *options);

/* A consumer would find records. */
bool fg_ring_has_unread(struct fg_ring *ring);

/* Forgets all records, and that any were lost. */
void fg_ring_clear(struct fg_ring *ring);

#endif
