/* What a spool holds: its rings, their tasks and where the records of each lie, and the functions of all.
 * The recorder keeps it up to date chunk by chunk as it appends; a resumed spool is taken in again the same
 * way; the trace is assembled from it. */
#ifndef FG_CONTENTS_H
#define FG_CONTENTS_H

#include "engine/core/hash_table.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/spool.h"
#include "tracedata/spool/symbols.h"
#include "tracedata/spool/time_scale.h"

/* A number in a damaged file may be anything; from here on it is not taken for a ring's. */
#define FG_CONTENTS_MAX_RINGS (UINT32_C(1) << 16)
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One sub-buffer's records in the spool. */
struct fg_piece {
    uint64_t offset;
    uint64_t bytes;
    uint64_t seq;
    uint64_t lost;
    bool damaged;
};

struct fg_trace_task {
    uint32_t id; /* the ring's number for it */
    uint32_t tid;
    char *name; /* NULL: not known */
    struct fg_piece *pieces;
    size_t nr_pieces, pieces_capacity;
    uint64_t first_ticks, last_ticks; /* of its records; 0 while it has none */
};

struct fg_trace_ring {
    char *name; /* of the ring file, without folder; NULL if the spool's chunk that said so is gone */
    char instance[FG_INSTANCE_NAME_BYTES]; /* empty: the process's top instance */
    uint32_t pid, ppid;
    uint32_t clock_kind;
    struct fg_clock_pair clock_start;
    struct fg_spool_state state;
    char *killed;        /* the kill switch's message, or NULL */
    struct fg_text argv; /* NUL-terminated strings */

    uint32_t *functions; /* the ring's function id -> number in fg_symbols plus 1, or 0 */
    uint8_t *recorded;   /* id -> a record of it was seen */
    size_t functions_capacity;
    struct fg_trace_task *tasks;
    size_t nr_tasks, tasks_capacity;
    struct fg_hash_table by_id; /* task id -> place in `tasks` plus 1 */

    uint64_t nr_symbols; /* in the spool: a resumed ring's first ones are not appended again */
    uint64_t nr_functions, nr_seen;
    uint64_t records, bytes;
    uint64_t nr_damaged; /* sub-buffers whose rest was not records */
};

struct fg_contents {
    struct fg_symbols symbols;
    struct fg_trace_ring *rings;
    size_t nr_rings, rings_capacity;
    uint64_t nr_gaps; /* places where the spool is damaged */
    enum fg_trace_clock clock;
    struct fg_trace_clock_pair clock_first, clock_last; /* both 0: none was read */
};

/* What fg_contents_survey learns of a sub-buffer. */
struct fg_survey {
    size_t bytes;     /* of sound records, from the beginning */
    uint64_t records; /* without LOST marks */
    uint64_t first_ticks, last_ticks;
};

/* Takes in one chunk: `payload` is needed for all but DATA, `offset` is where it lies. A chunk that makes no
 * sense counts as a gap. 0 or -ENOMEM. */
int fg_contents_take(struct fg_contents *contents, const struct fg_spool_chunk *chunk, const void *payload,
                     uint64_t offset);

/* Walks a sub-buffer's records up to the first that is not sound, and notes which of the ring's functions
 * they are of. */
struct fg_survey fg_contents_survey(struct fg_trace_ring *ring, const void *data, size_t bytes);

/* Takes in a whole spool from its beginning; *end is the place behind its last whole chunk. */
int fg_contents_load(struct fg_contents *contents, const struct fg_spool *spool, uint64_t *end);

/* The conversion of the session for rings of this clock kind, to the trace's clock. */
struct fg_time_scale fg_contents_time_scale(const struct fg_contents *contents, uint32_t clock_kind);

/* Records of the ring that are known to be lost. */
uint64_t fg_trace_ring_lost(const struct fg_trace_ring *ring);

void fg_contents_free(struct fg_contents *contents);

#endif
