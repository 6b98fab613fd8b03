/* The index of a trace's calls: what a viewer asks for, answered without reading the trace again.
 *
 *     spans, by (lane, depth, class, begin)         cells of level 4, by (lane, depth, slot)
 *     +-----------------------------------+         +--------------------------------------------+
 *     | lane 0, depth 0, class 9: f   3ms |         | lane 0, depth 1, slot 7: 12 spans, 2.5 us,   |
 *     | lane 0, depth 1, class 4: g 300ns |         |   most of it in g                           |
 *     | ...                               |         | ...                                        |
 *     +-----------------------------------+         +--------------------------------------------+
 *
 * A lane is a thread. A span is a stretch of a call, as calls/assembler.h has them: from its begin or a
 * resume to its end or a suspend. Spans of one lane and depth never overlap: one whose begin was lost begins
 * when that before it ended, at the earliest. A span of 4^c ns up to 4^(c+1) has the class c; one of no time
 * has 0.
 *
 * What is too short for a picture is counted in cells. A cell of level l stands for a slot of 4^l ns at a
 * depth of a lane. It counts the spans that begin in it and have a class below l. So at each level spans of
 * the classes from l on and the cells of level l have every span once. There are the levels `base`,
 * `base` + FG_INDEX_STEP, ... up to one at which a cell is as long as the trace.
 *
 * The memory is bounded: if spans and cells have more bytes than they may, the shortest spans are dropped:
 * `base` grows, and spans of classes below it are in cells only. */
#ifndef FG_CALL_INDEX_H
#define FG_CALL_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/index/run_table.h"
#include "tracedata/read/merge.h"

#define FG_INDEX_STEP 2u         /* between levels */
#define FG_INDEX_NR_CLASSES 32u  /* of spans */
#define FG_INDEX_MAX_LEVELS 17u  /* 0, 2, ... 32 */
#define FG_INDEX_NR_DURATIONS 65 /* of a histogram: by the number of bits of the nanoseconds */
#define FG_NO_SPAN UINT32_MAX

/* X(name, number): how a span ended. The first ones are those of events (enum fg_exit_kind). */
#define FG_SPAN_ENDS(X)                                                                                      \
    X(return, 0)                                                                                             \
    X(raise, 1)                                                                                              \
    X(suspend, 2)                                                                                            \
    X(close, 3)                                                                                              \
    X(lost, 4) /* the end was lost: it is at the thread's latest event before that shows it */               \
    X(open, 5) /* in progress at the end of the thread or of the trace */

enum fg_span_end {
#define X(name, value) FG_SPAN_##name = (value),
    FG_SPAN_ENDS(X)
#undef X
};

struct fg_span {
    uint64_t begin_ns, end_ns;
    uint32_t func; /* index; that after the last one: it has no name */
    uint32_t lane;
    uint32_t depth;
    uint8_t ended;      /* enum fg_span_end */
    uint8_t is_resumed; /* it began with a resume */
    uint16_t unused;    /* 0 */
};

struct fg_span_cell {
    uint64_t slot;      /* number of its slot */
    uint64_t busy_ns;   /* how long the spans took */
    uint64_t weight_ns; /* by how much `func` is ahead: see fg_cell_add() */
    uint32_t func;      /* the dominant one: if a function has more than half of busy_ns, it is this one */
    uint32_t count;     /* of spans */
    uint32_t lane, depth;
};

struct fg_cell_level {
    struct fg_span_cell *cells;
    size_t n;
};

/* X(name, number): marks are places in a lane that a person looks for. */
#define FG_INDEX_MARKS(X)                                                                                    \
    X(raise, 0)   /* a call ended by an exception; `func` is its function */                                 \
    X(event, 1)   /* an event that a program or its user defined, or of a kernel */                          \
    X(mark, 2)    /* a text or data that the program put in */                                               \
    X(loss, 3)    /* records were lost just before: how many, if that is known, else 1 */                    \
    X(wait, 4)    /* the thread waited for the recorder */                                                   \
    X(overrun, 5) /* calls were not traced, as a shadow stack was full */

enum fg_index_mark_kind {
#define X(name, value) FG_MARK_##name = (value),
    FG_INDEX_MARKS(X)
#undef X
        FG_NR_MARK_KINDS,
};

struct fg_index_mark {
    uint64_t time_ns;
    uint64_t count; /* of how many this is the first: marks are merged when there are too many */
    uint32_t lane;
    uint32_t func; /* of the first; FG_FUNC_UNKNOWN: it has none */
    uint32_t kind;
    uint32_t unused; /* 0 */
};

struct fg_index_lane {
    uint64_t first_ns, last_ns; /* its events and spans */
    uint64_t nr_calls;          /* calls that were met for the first time */
    uint64_t nr_spans;          /* also those in cells only */
    uint32_t task;              /* the number of the first task in it */
    uint32_t nr_depths;         /* 1 + that of its deepest span; 0: it has none */
    uint32_t file_lane;         /* where its first event lies */
    int32_t tid, pid;
    uint32_t unused; /* 0 */
};

/* A task that the list of tasks has not: its number is the next one after those that it has. */
struct fg_index_task {
    uint32_t lane;
    int32_t tid;
};

/* A function that was called. Its calls are counted where they are met for the first time. */
struct fg_index_function {
    uint32_t func;
    uint32_t unused; /* 0 */
    uint64_t nr_calls;
    uint64_t nr_spans;  /* also those in cells only */
    uint64_t nr_raised; /* calls that an exception ended */
    uint64_t total_ns;  /* how long its spans took, without waits for the recorder; recursion counts twice */
    uint64_t durations[FG_INDEX_NR_DURATIONS]; /* a histogram of its calls that are whole */
};

/* Spans of a lane that ended one after the other. */
struct fg_index_block {
    uint64_t first_ns, last_ns; /* the first and the last end: no other block of the lane has one of them */
    uint32_t lane;
    uint32_t unused; /* 0 */
};

/* The spans of a function that ended in a block and are in cells only. */
struct fg_index_short {
    uint32_t func, block;
    uint32_t count;
    uint32_t nr_raised; /* of them */
};

/* Numbers of spans, by (function, lane, class, begin). */
struct fg_span_order {
    uint32_t *numbers;
    size_t n;
};

/* What is made of spans and cells comes into these arrays, which then change places with those of the index.
 * Memory that was allocated each time would leave holes between smaller blocks, as large as the index. */
struct fg_index_room {
    struct fg_span *spans;
    struct fg_span_cell *cells; /* of the base */
    size_t spans_capacity, cells_capacity;
    size_t base_capacity; /* of the base's cells in the index */
};

struct fg_call_index {
    struct fg_index_lane *lanes;
    size_t nr_lanes;
    struct fg_span *spans;
    size_t nr_spans, spans_capacity;
    struct fg_index_room *room;                       /* while the index is made; else NULL */
    struct fg_span_order by_function;                 /* all spans */
    struct fg_span_order raised;                      /* those that an exception ended */
    struct fg_cell_level levels[FG_INDEX_MAX_LEVELS]; /* by level / FG_INDEX_STEP; below base: none */
    unsigned base, top;                               /* levels */
    struct fg_index_block *blocks;                    /* by (lane, time) */
    size_t nr_blocks;
    struct fg_index_short *shorts; /* by (function, block) */
    size_t nr_shorts;
    struct fg_index_mark *marks; /* by (lane, kind, time) */
    size_t nr_marks;
    struct fg_index_task *tasks; /* those that the list of tasks has not */
    size_t nr_tasks;
    struct fg_index_function **functions; /* by function; NULL: it was not called */
    uint32_t nr_functions;
    uint64_t first_ns, last_ns;
    bool has_runs;            /* only of an image */
    struct fg_run_table runs; /* in the image, too */
    void *image; /* of a cache: all arrays lie in it, but `functions`. NULL: each is memory of its own */
};

/* Called now and then while an index is made. */
struct fg_index_progress {
    /* @nr_events: that were read so far. Return: 0; or a negative errno: the index is given up. */
    int (*report)(void *context, uint64_t nr_events);
    void *context;
};

/**
 * fg_call_index_make() - Read a whole trace and make its index.
 * @merge: open; stays the caller's, who may close it afterwards
 * @most_bytes: of spans, cells and marks, if there are not more lanes and depths than that has room for
 * @progress: NULL: nobody is told
 *
 * Return: 0; -ENOMEM; an error of fg_merge_next(), or of @progress.
 */
int fg_call_index_make(struct fg_merge *merge, size_t most_bytes, const struct fg_index_progress *progress,
                       struct fg_call_index **index);

/**
 * fg_call_index_make_part() - Read a part of a lane for the spans that the index has only in cells.
 * @recorded: the `.fg`, whose clock counts nanoseconds
 * @lane: of @index
 * @last_level: of cells in the part
 * @part: set to an index with the base 0, in which the lane is number 0, if it has events there
 *
 * The part has the spans of classes below @index->base that begin from @begin_ns on and end before @end_ns.
 * Return: 0 or a negative errno.
 */
int fg_call_index_make_part(const struct fg_recorded *recorded, const struct fg_call_index *index,
                            uint32_t lane, uint64_t begin_ns, uint64_t end_ns, unsigned last_level,
                            struct fg_call_index **part);
struct fg_call_index *fg_call_index_new(uint32_t nr_functions); /* empty; NULL: memory is short */
void fg_call_index_free(struct fg_call_index *index);
/* Nothing more comes into the index, and its spans are sorted: frees what only that needed. */
void fg_call_index_free_room(struct fg_call_index *index);

static inline unsigned fg_duration_class(uint64_t ns)
{
    return ns ? (63u - (unsigned)__builtin_clzll(ns)) / 2 : 0;
}

/* A slot of the base cells. */
static inline uint64_t fg_index_slot_ns(const struct fg_call_index *index)
{
    return index->base < FG_INDEX_NR_CLASSES ? UINT64_C(1) << 2 * index->base : UINT64_MAX;
}

static inline unsigned fg_span_class(const struct fg_span *span)
{
    return fg_duration_class(span->end_ns - span->begin_ns);
}

#endif
