/* One event after the other into the figures. */
#ifndef FG_SUMMARY_CALLS_H
#define FG_SUMMARY_CALLS_H

#include <stdbool.h>

#include "tracedata/calls/assembler.h"
#include "tracedata/read/merge.h"
#include "tracedata/view/call_tree.h"
#include "tracedata/view/summary_figures.h"
#include "tracedata/view/summary_lanes.h"

struct fg_summary_thread {
    struct fg_call_thread thread;
    struct fg_summary_lane *lane; /* while it is within a call */
    uint32_t root, task;          /* in the tree; and the task whose root it is */
    uint64_t native_ns;           /* self time of all its native functions so far */
};

struct fg_summary {
    struct fg_call_assembler calls;
    struct fg_merge *merge;
    struct fg_function_summary *functions; /* the rows: see fg_summary_functions() */
    uint32_t nr_functions;
    bool has_native;  /* native functions, and others */
    uint64_t *events; /* hits of each kind */
    size_t nr_events;
    struct fg_summary_lanes lanes;
    struct fg_call_tree *tree; /* NULL: none is wanted */
    enum fg_tree_groups groups;
};

extern const struct fg_call_consumer fg_summary_consumer;

#endif
