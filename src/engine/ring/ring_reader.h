/* The reading side of a ring-buffer file: claims full sub-buffers in order, hands their records out, gives
 * them back. One reader for each file at a time. Used by the recorder and by `funcgraph recover`. */
#ifndef FG_RING_READER_H
#define FG_RING_READER_H

#include "engine/ring/ring_layout.h"
#include <stdbool.h>
#include <stddef.h>

struct fg_ring_reader;

/* One sub-buffer's records, valid until fg_ring_reader_release. */
struct fg_ring_chunk {
    const void *data; /* struct fg_record ... */
    size_t bytes;     /* whole records only */
    uint64_t lost;    /* records of this task lost before the first one here */
    uint64_t seq;
    uint32_t task;
    uint32_t index; /* the sub-buffer's */
};

/* Maps the file. Returns 0 or a negative errno: -EINVAL for a file that is not a ring buffer or is damaged
 * (every offset and size in the header is checked against the file's size before it is believed). */
int fg_ring_reader_open(const char *path, struct fg_ring_reader **reader);
void fg_ring_reader_close(struct fg_ring_reader *reader);

const struct fg_ring_header *fg_ring_reader_header(const struct fg_ring_reader *reader);

/* Symbols not yet seen by this reader, one at a time; NULL when there is no further one now. */
const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader);

/* Claims the oldest full sub-buffer. False when there is none now. */
bool fg_ring_reader_next(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);
/* Gives it back to the writer and wakes a waiting one. */
void fg_ring_reader_release(struct fg_ring_reader *reader, const struct fg_ring_chunk *chunk);

/* When the writer is gone or has finished: all that is left, in order of seq, also sub-buffers that a
 * reader which died had claimed and those that their tasks still owned. False at the end. */
bool fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);

/* Asks the writer to stop recording (it frees itself of the file at its next record). */
void fg_ring_reader_stop_writer(struct fg_ring_reader *reader);

/* The clock pairs (start, latest) without a torn read. */
void fg_ring_reader_clock(const struct fg_ring_reader *reader, struct fg_clock_pair *start,
                          struct fg_clock_pair *latest);

#endif
