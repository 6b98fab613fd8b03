/* What a spool holds: its rings, the tasks of each and where their records lie, and the functions of all
 * rings. The recorder takes in each chunk that it appends, or all chunks of a spool that it resumes; a
 * reader takes in those of a trace. */
#ifndef FG_CONTENTS_H
#define FG_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "engine/base/run_time.h"
#include "tracedata/base/event_table.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/chunk_reader.h"
#include "tracedata/spool/index.h"
#include "tracedata/spool/symbols.h"
#include "tracedata/spool/time_scale.h"

/* In a damaged file a ring's number may be anything; from this one on it is not believed. */
#define FG_CONTENTS_MAX_RINGS (UINT32_C(1) << 16)

/* The records of one sub-buffer in the spool: a DATA chunk. */
struct fg_piece {
    uint64_t offset; /* of the chunk */
    uint64_t seq;
    uint64_t lost;
    uint32_t stored_bytes;
    uint32_t nr_records;
    bool damaged;
};

struct fg_trace_task {
    uint32_t id; /* the ring's number for it */
    uint32_t tid;
    char *name; /* NULL if unknown */
    struct fg_piece *pieces;
    size_t nr_pieces, pieces_capacity;
    uint64_t nr_records;
    uint64_t first_ticks, last_ticks;       /* of its records; 0 if it has none */
    struct fg_run_time first_run, last_run; /* of its thread */
    bool has_run;                           /* they are known */
};

/* Where a ring's process ran. */
struct fg_trace_host {
    char *name; /* NULL: the trace is of one host, and does not say */
    uint32_t number;
    struct fg_trace_clock_pair first, last;
    uint64_t error_ns;
};

struct fg_trace_ring {
    char *name; /* of the ring file, without folder; NULL if its RING chunk is damaged */
    struct fg_trace_host host;
    struct fg_time_scale scale; /* from its ticks to the trace's clock: set by fg_contents_load() */
    char instance[FG_INSTANCE_NAME_BYTES]; /* empty for the process's top instance */
    uint32_t pid, ppid;
    uint32_t clock_kind;
    struct fg_clock_pair clock_start;
    struct fg_spool_state base;  /* counts of files before this one; 0 if there are none */
    struct fg_spool_state state; /* the latest counts, without those */
    char *killed;                /* the kill switch's message, or NULL */
    struct fg_text argv;         /* strings, each ended by a NUL */

    uint32_t *functions; /* the ring's function id -> number in fg_symbols plus 1, or 0 */
    uint8_t *recorded;   /* id -> a record of it was seen */
    size_t functions_capacity;
    uint32_t *events; /* the ring's number of an event -> number in fg_event_table plus 1, or 0 */
    size_t events_capacity;
    struct fg_trace_task *tasks;
    size_t nr_tasks, tasks_capacity;
    struct fg_hash_table by_id; /* task id -> place in `tasks` plus 1 */

    uint64_t nr_symbols; /* in the spool: that many of a resumed ring's symbols are skipped */
    uint64_t nr_functions, nr_seen;
    uint64_t records, bytes;
    uint64_t nr_damaged; /* sub-buffers with a rest that was not sound records */
};

struct fg_contents {
    struct fg_symbols symbols;
    struct fg_event_table events;
    struct fg_trace_ring *rings;
    size_t nr_rings, rings_capacity;
    uint64_t nr_gaps;    /* places where the spool is damaged */
    uint64_t damaged_at; /* the first of them; 0: there is none */
    uint64_t nr_ids;     /* of functions and events that all rings have room for */
    uint64_t nr_symbols, symbol_bytes, stored_symbol_bytes;
    enum fg_trace_clock clock;
    struct fg_trace_clock_pair clock_first, clock_last; /* both 0: the spool has no pair */
    struct fg_text meta;                                /* of the last META chunk */
};

/* What fg_contents_survey() finds in a sub-buffer. */
struct fg_survey {
    size_t bytes;     /* of the sound records at its beginning */
    uint64_t records; /* without LOST marks */
    uint64_t first_ticks, last_ticks;
};

/**
 * fg_contents_take() - Take in one chunk.
 * @payload: place->chunk.bytes, decompressed; not used for a DATA chunk
 *
 * A chunk that makes no sense counts as a gap. Return: 0 or -ENOMEM.
 */
int fg_contents_take(struct fg_contents *contents, const struct fg_spool_place *place, const void *payload);

/* Walks a sub-buffer's records up to the first one that is not sound, and marks their functions as
 * recorded. */
struct fg_survey fg_contents_survey(struct fg_trace_ring *ring, const void *data, size_t bytes);

/* Takes in the chunks of an index from number @first on; a damaged one counts as a gap. Return: 0; -ENOTSUP:
 * they are compressed in a way that nothing here can decompress; or another negative errno. */
int fg_contents_load(struct fg_contents *contents, struct fg_chunk_reader *reader,
                     const struct fg_spool_index *index, size_t first);

/* Reads all records, and marks their functions as recorded: for a recorder that goes on with a spool.
 * Return: as fg_contents_load(). */
int fg_contents_survey_all(struct fg_contents *contents, struct fg_chunk_reader *reader);

/* Sets the scale of each ring, which depends on all rings of its host: fg_contents_load() does it at its end.
 * Return: 0 or -ENOMEM. */
int fg_contents_set_time_scales(struct fg_contents *contents);

/* Counts of @state without those of @base. */
struct fg_spool_state fg_spool_state_since(struct fg_spool_state state, const struct fg_spool_state *base);

/* Records of the ring that are known to be lost. */
uint64_t fg_trace_ring_lost(const struct fg_trace_ring *ring);

void fg_contents_free(struct fg_contents *contents);

#endif
