/* The spool: the self-contained file (OUTPUT.part) into which the recorder empties ring buffers while the
 * programs run, and from which the trace is made at the end. It only grows, so what is in it survives the
 * recorder.
 *
 *     +------------------------+ 0
 *     | struct fg_spool_header |
 *     +------------------------+
 *     | struct fg_spool_chunk  |  64 bytes: what follows, and whose it is
 *     | payload                |  chunk.bytes, a multiple of 8
 *     +------------------------+
 *     | ...                    |
 *
 * The payload of a DATA chunk is a sub-buffer's records just as the traced process wrote them (record.h):
 * emptying is one copy, and all that needs the whole session's knowledge (clock, function numbers, lanes) is
 * done when the trace is assembled. A chunk is whole or it is not there: a failed append is taken back, and
 * a tail that was cut off is passed over when the spool is resumed.
 */
#ifndef FG_SPOOL_H
#define FG_SPOOL_H

#include "engine/ring/ring_layout.h"
#include "tracedata/base/trace_clock.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FG_SPOOL_MAGIC "FGSPOOL\3"
#define FG_SPOOL_CHUNK_MAGIC UINT64_C(0x9e01b5c846474348) /* not a likely time, nor text */

/* X(type, value, payload) */
#define FG_SPOOL_CHUNKS(X)                                                                                   \
    X(RING, 1, "struct fg_spool_ring, then the ring file's name: a ring joined, and has this number")        \
    X(SYMBOLS, 2, "struct fg_symbol ... as in the ring file, each once and in order")                        \
    X(DATA, 3, "struct fg_record ... of one sub-buffer")                                                     \
    X(STATE, 4, "struct fg_spool_state, then the kill switch's message: the latest counts")                  \
    X(CLOCK, 5, "struct fg_spool_clock: the trace's clock, and what it says now; of no ring")

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
    uint32_t ring; /* rings are numbered from 0 in the order they joined */
    uint64_t bytes;
    /* DATA only */
    uint32_t task;
    uint32_t damaged; /* the sub-buffer's rest was not records and was left out */
    uint64_t seq;
    uint64_t lost; /* records of this task lost before the first one here */
    uint64_t first_ticks, last_ticks;
};

struct fg_spool_ring {
    uint32_t pid;
    uint32_t clock_kind; /* enum fg_clock_kind */
    struct fg_clock_pair clock_start;
    char instance[FG_INSTANCE_NAME_BYTES]; /* NUL-terminated; empty: the top instance */
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
    uint64_t end; /* bytes of whole chunks; the next one goes here */
};

/* Makes a new spool; -EEXIST if the file is there. The file is locked (flock) while it is open, so that two
 * processes never append to one spool. */
int fg_spool_create(struct fg_spool *spool, const char *path);

/* Opens a spool that was left behind, to read it with fg_spool_next and then append to it. -EINVAL if the
 * file is no spool, -EWOULDBLOCK if another process has it open. `end` is 0 until fg_spool_resume_at. */
int fg_spool_open(struct fg_spool *spool, const char *path);

/* Appends one chunk; `payload` need not be a multiple of 8 bytes, the file's is (zero padded) and so is
 * chunk->bytes then. Fills in chunk->magic and, in *offset, where the payload lies. On an error (-ENOSPC,
 * -EIO, ...) the spool is as before and the call may be repeated. */
int fg_spool_append(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *payload, size_t bytes,
                    uint64_t *offset);

/* Reading from the beginning: *at is where to look (0 at first), moved behind the chunk; the chunk's payload
 * then lies in the `chunk->bytes` before *at. Damage between chunks is passed over, *skipped tells how much.
 * 1: a chunk; 0: the end of what is whole; or a negative errno. */
int fg_spool_next(const struct fg_spool *spool, uint64_t *at, struct fg_spool_chunk *chunk,
                  uint64_t *skipped);

/* Cuts off what lies behind `end`, the place behind the last whole chunk; appends go there. */
int fg_spool_resume_at(struct fg_spool *spool, uint64_t end);

void fg_spool_close(struct fg_spool *spool);

#endif
