/* Reading a ring-buffer file, for the recorder and `funcgraph recover`. A reader claims full sub-buffers
 * in order, reads their records and gives them back. Each file has at most one reader at a time. */
#ifndef FG_RING_READER_H
#define FG_RING_READER_H

#include "engine/ring/ring_layout.h"
#include <stddef.h>

struct fg_ring_reader;

/* One sub-buffer's records: a copy, valid until the next one is read. */
struct fg_ring_chunk {
    const void *data; /* struct fg_record ... */
    size_t bytes;     /* whole records only */
    uint64_t lost;    /* records of this task lost before the first one here */
    uint64_t seq;
    uint32_t task;
    uint32_t index; /* the sub-buffer's */
};

/**
 * fg_ring_reader_open() - Map a ring-buffer file.
 *
 * The file is opened once. Every offset and size in the header is checked against the file's size.
 *
 * Return: 0 or a negative errno; -EINVAL: not a ring buffer, or damaged.
 */
int fg_ring_reader_open(const char *path, struct fg_ring_reader **reader);
/* The same for a file that is open for reading and writing. @fd stays the caller's, who may close it. */
int fg_ring_reader_open_fd(int fd, struct fg_ring_reader **reader);
void fg_ring_reader_close(struct fg_ring_reader *reader);

const struct fg_ring_header *fg_ring_reader_header(const struct fg_ring_reader *reader);

/* The next symbol that this reader has not read, valid until the next call; NULL: there is none now. */
const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader);
/* Continues with the symbol at @place: 0, the first one; or what an earlier call returned. Return: the place
 * where the reader was. */
uint64_t fg_ring_reader_seek_symbols(struct fg_ring_reader *reader, uint64_t place);

/* Claims the oldest full sub-buffer. Return: 1; 0: there is none now; a negative errno: it could not be read,
 * and the next call tries again. */
int fg_ring_reader_next(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);
/* Gives a sub-buffer back to the writers and wakes those that wait. */
void fg_ring_reader_release(struct fg_ring_reader *reader, const struct fg_ring_chunk *chunk);

/* For a file whose process died or finished: the remaining sub-buffers in order of seq, including those
 * that tasks still owned and those that a dead reader had claimed. Return: as fg_ring_reader_next(). */
int fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);

/**
 * fg_ring_reader_peek() - Copy what the task has written so far that owns sub-buffer @index.
 *
 * Its owner goes on writing, and the sub-buffer is drained as ever when it is full. For use while no
 * sub-buffer is claimed: @chunk->data is memory that the other calls use, too.
 *
 * Return: 1; 0: no task owns it, or it is empty; a negative errno.
 */
int fg_ring_reader_peek(struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk);

/* Asks the traced process to stop recording: it does so when a task needs its next sub-buffer. */
void fg_ring_reader_stop_writer(struct fg_ring_reader *reader);

/* Reads the file's first and latest clock pair, the latter without a torn read. */
void fg_ring_reader_clock(const struct fg_ring_reader *reader, struct fg_clock_pair *start,
                          struct fg_clock_pair *latest);

#endif
