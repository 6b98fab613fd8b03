/* Slices as packets of a Perfetto trace (protos/perfetto/trace/ in Perfetto's sources).
 *
 * What is written once comes from whoever drives this: clocks, tracks, and all names. Packets here refer to
 * names by number ("interned"): a function's is its index plus 1, an annotation's is in the tables below. */
#ifndef FG_PERFETTO_H
#define FG_PERFETTO_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/text.h"
#include "tracedata/export/await_chains.h"
#include "tracedata/export/slices.h"

/* X(name, number): the names of annotations that are no argument's. */
#define FG_PERFETTO_NOTES(X)                                                                                 \
    X(ended, 1)                                                                                              \
    X(exception, 2)                                                                                          \
    X(result, 3)                                                                                             \
    X(yielded, 4)                                                                                            \
    X(caller, 5)                                                                                             \
    X(caller_line, 6)                                                                                        \
    X(signal_handler, 7)                                                                                     \
    X(lost_before, 8)

enum fg_perfetto_note {
#define X(name, value) FG_PERFETTO_##name = (value),
    FG_PERFETTO_NOTES(X)
#undef X
};

#define FG_PERFETTO_SEQUENCE 1                     /* all packets are of one writer */
#define FG_PERFETTO_DELTA_CLOCK 64                 /* a packet's time counts from the packet before it */
#define FG_PERFETTO_FIRST_TRACK 1                  /* the track of thread n has the uuid n + this */
#define FG_PERFETTO_FIRST_TASK (UINT64_C(1) << 41) /* likewise of tasks of event loops (await_chains.h) */
#define FG_PERFETTO_ARG0 16                        /* the annotation names arg0, arg1, ... */
#define FG_PERFETTO_NR_ARGS 128
#define FG_PERFETTO_FIRST_NAME (FG_PERFETTO_ARG0 + FG_PERFETTO_NR_ARGS)

/* What the packets need to know of the trace's functions. All of it stays the caller's. */
struct fg_perfetto_names {
    size_t nr_functions;
    const uint32_t *first_argument; /* nr_functions + 1 of them: where the function's names begin in ... */
    const uint32_t *arguments;      /* ... numbers of annotation names */
    size_t nr_arguments;
    const uint8_t *func_flags; /* enum fg_func_flags of each function */
};

struct fg_perfetto {
    struct fg_perfetto_names names;
    uint32_t clock; /* Perfetto's number of the trace's clock */
    uint64_t last_ns;
    struct fg_await_chains chains;
    struct fg_text event, note, value; /* messages in the making */
};

void fg_perfetto_free(struct fg_perfetto *perfetto);

/**
 * fg_perfetto_write() - Append the packets of some slices, and of calls that the function tracer recorded.
 * @columns: the events that the slices came from
 * @threads: of each task its thread
 * @at_end: no more slices follow
 * @packets: `failed` is set if memory is short
 *
 * The caller describes the tracks in perfetto->chains.new_tracks, and sets their count to 0.
 */
void fg_perfetto_write(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                       const uint32_t *threads, size_t nr_tasks, const struct fg_slices *slices, bool at_end,
                       struct fg_text *packets);

#endif
