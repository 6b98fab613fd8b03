/* Reading a ring-buffer file, for the recorder and `funcgraph recover`. A reader claims full sub-buffers
 * in order, reads their records and gives them back. Each file has at most one reader at a time. */
#ifndef FG_RING_READER_H
#define FG_RING_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/ring/ring_layout.h"

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

/* What a ring's header says of the ring. It was checked when the file was opened, and does not change. */
struct fg_ring_facts {
    uint32_t pid;
    uint32_t nr_subbufs, subbuf_bytes;
    uint32_t clock_kind; /* enum fg_clock_kind, if the writer is sound */
    struct fg_clock_pair clock_start;
    char instance[FG_INSTANCE_NAME_BYTES]; /* ended by a NUL */
};

/* What a ring's header counts now. Each number may be anything. */
struct fg_ring_counts {
    uint64_t records_lost, overrun, wait_count, wait_ticks;
    uint64_t symbols_lost; /* with one more if there are symbols that the reader leaves out */
    uint32_t nr_tasks, waiters;
    bool finished;
    char killed[FG_RING_KILLED_BYTES]; /* ended by a NUL */
};

#define FG_RING_ANY_BYTES ((uint64_t)FG_RING_MAX_KB << 10) /* no ring has more sub-buffers */

/**
 * fg_ring_reader_open() - Map a ring-buffer file.
 * @fd: of the file, open for reading and writing. It stays the caller's, who may close it. There is no path,
 *      as the folder may be another user's
 * @most_bytes: what its sub-buffers may have together, as its reader and its writer agreed
 * @is_private: no other process has the file, so no signal handler guards against its truncation
 *
 * Every offset and size in the header is checked against the file's size.
 *
 * Return: 0 or a negative errno; -EINVAL: not a ring buffer, or damaged.
 */
int fg_ring_reader_open(int fd, uint64_t most_bytes, bool is_private, struct fg_ring_reader **reader);
void fg_ring_reader_close(struct fg_ring_reader *reader);

const struct fg_ring_facts *fg_ring_reader_facts(const struct fg_ring_reader *reader);
void fg_ring_reader_counts(const struct fg_ring_reader *reader, struct fg_ring_counts *counts);

/* What the file's owner has done to it, as a text; NULL: nothing that was noticed. There is no more to read
 * from a damaged ring. */
const char *fg_ring_reader_damage(struct fg_ring_reader *reader);

/* The functions below that return an errno return -EBADMSG for a damaged ring. */

/* The next symbol that this reader has not read, valid until the next call; NULL: there is none now. */
const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader);
/* Continues with the symbol at @place: 0, the first one; or what an earlier call returned. Return: the place
 * where the reader was. */
uint64_t fg_ring_reader_seek_symbols(struct fg_ring_reader *reader, uint64_t place);

/* Claims the oldest full sub-buffer. Return: 1; 0: there is none now, or the queue is not sound; a negative
 * errno: it could not be read, and the next call tries again. */
int fg_ring_reader_next(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);
/* Gives a sub-buffer back to the writers and wakes those that wait. */
void fg_ring_reader_release(struct fg_ring_reader *reader, const struct fg_ring_chunk *chunk);

/* For a file whose process died or finished: the remaining sub-buffers in order of seq, including those
 * that tasks still owned and those that a dead reader had claimed. Return: as fg_ring_reader_next(). */
int fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk);

/* Return: the first sub-buffer from @index on that may have memory; the number of sub-buffers: none has. A
 * sparse file may have any number of sub-buffers, so loops over all go from one of these to the next. */
uint32_t fg_ring_reader_next_used(struct fg_ring_reader *reader, uint32_t index);

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
