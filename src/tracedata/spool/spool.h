/* The spool: the file (OUTPUT.part) into which the recorder drains ring buffers while the programs run,
 * and from which the trace is made at the end. It is self-contained and only grows, so its contents
 * survive the recorder.
 *
 *     +------------------------+ 0
 *     | struct fg_spool_header |
 *     +------------------------+
 *     | struct fg_spool_chunk  |  64 bytes: what the payload is, and of which ring
 *     | payload                |  chunk.bytes, a multiple of 8
 *     +------------------------+
 *     | ...                    |
 *
 * The payload of a DATA chunk is the records of one sub-buffer, as the traced process wrote them
 * (record.h). So draining is one copy. What needs the whole session (clock, function numbers, lanes) is
 * done when the trace is assembled.
 *
 * A chunk is whole or it does not exist: a failed append is undone, and an incomplete chunk at the end is
 * cut off when the spool is resumed. */
#ifndef FG_SPOOL_H
#define FG_SPOOL_H

#include "engine/ring/ring_layout.h"
#include "tracedata/base/trace_clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FG_SPOOL_MAGIC "FGSPOOL\4"
#define FG_SPOOL_CHUNK_MAGIC UINT64_C(0x9e01b5c846474348) /* not a likely time, nor text */

/* X(type, value, payload) */
#define FG_SPOOL_CHUNKS(X)                                                                                   \
    X(RING, 1, "struct fg_spool_ring, then the ring file's name: a ring of this number was added")           \
    X(SYMBOLS, 2, "struct fg_symbol ... as in the ring file, in its order, each once")                       \
    X(DATA, 3, "struct fg_record ... of one sub-buffer")                                                     \
    X(STATE, 4, "struct fg_spool_state, then the kill switch's message: the ring's latest counts")           \
    X(CLOCK, 5, "struct fg_spool_clock: the trace's clock and its time now; belongs to no ring")

enum fg_spool_chunk_type {
#define X(name, value, payload) FG_SPOOL_##name = (value),
    FG_SPOOL_CHUNKS(X)
#undef X
};

struct fg_spool_header {
    char magic[8];
    uint64_t reserved;
};

struct fg_spool_chunk {
    uint64_t magic;
    uint32_t type; /* enum fg_spool_chunk_type */
    uint32_t ring; /* numbered from 0 in the order in which they were added */
    uint64_t bytes;
    /* DATA only */
    uint32_t task;
    uint32_t damaged; /* the rest of the sub-buffer was not sound records, and was left out */
    uint64_t seq;
    uint64_t lost; /* records of this task lost just before the first one here */
    uint64_t first_ticks, last_ticks;
};

struct fg_spool_ring {
    uint32_t pid;
    uint32_t clock_kind; /* enum fg_clock_kind */
    struct fg_clock_pair clock_start;
    char instance[FG_INSTANCE_NAME_BYTES]; /* ended by a NUL; empty for the top instance */
    uint64_t name_bytes;
};

struct fg_spool_clock {
    uint64_t clock; /* enum fg_trace_clock */
    struct fg_trace_clock_pair now;
};

struct fg_spool_state {
    struct fg_clock_pair clock_latest;
    uint64_t records_lost;
    uint64_t overrun;
    uint64_t wait_count, wait_ticks;
    uint64_t symbols_lost;
    uint32_t nr_tasks;
    uint32_t finished;
    uint64_t killed_bytes;
};

struct fg_spool {
    int fd;
    uint64_t end; /* of the last whole chunk: the next one goes here */
};

/* One thread at a time may use a spool. All functions return 0 or a negative errno, if nothing else is
 * said. */

/* Creates a spool; -EEXIST if the file exists. The file is locked (flock) while it is open, so that two
 * processes never append to one spool. */
int fg_spool_create(struct fg_spool *spool, const char *path);
/* The same in an empty file that is open for reading and writing. @fd stays the caller's, who may close
 * it. */
int fg_spool_create_in(struct fg_spool *spool, int fd);

/* Opens a spool that a recorder left, to read it with fg_spool_next() and then append to it. -EINVAL: the
 * file is not a spool. -EWOULDBLOCK: another process has it open. `end` is 0 until fg_spool_resume_at(). */
int fg_spool_open(struct fg_spool *spool, const char *path);

/**
 * fg_spool_append() - Append one chunk.
 * @chunk: its magic and bytes are filled in; bytes is that of the file, padded to a multiple of 8
 * @payload: any number of @bytes
 * @offset: set to where the payload lies in the file
 *
 * Return: 0; or an error (-ENOSPC, -EIO, ...): the spool is as before, and the call may be repeated.
 */
int fg_spool_append(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *payload, size_t bytes,
                    uint64_t *offset);

/**
 * fg_spool_next() - Find the next whole chunk.
 * @at: where to look, 0 at first; moved to the end of the chunk, whose payload is the chunk->bytes before
 * it
 * @skipped: set to the bytes of damage before the chunk
 *
 * Return: 1 and the chunk; 0: no whole chunk is left; or a negative errno.
 */
int fg_spool_next(const struct fg_spool *spool, uint64_t *at, struct fg_spool_chunk *chunk,
                  uint64_t *skipped);

/* Cuts the file off at `end`, that of the last whole chunk; appends go there. */
int fg_spool_resume_at(struct fg_spool *spool, uint64_t end);

void fg_spool_close(struct fg_spool *spool);

#endif
