/* One event after the other into the figures. */
#ifndef FG_SUMMARY_CALLS_H
#define FG_SUMMARY_CALLS_H

#include "tracedata/read/merge.h"
#include "tracedata/view/call_tree.h"
#include "tracedata/view/parked_calls.h"
#include "tracedata/view/summary_figures.h"
#include "tracedata/view/summary_lane.h"
#include "tracedata/view/summary_threads.h"

#define FG_SUMMARY_NO_TASK UINT32_MAX

struct fg_summary {
    struct fg_merge *merge;
    struct fg_function_summary *functions; /* the rows: see fg_summary_functions() */
    uint32_t nr_functions;
    uint64_t *events; /* hits of each kind */
    size_t nr_events;
    struct fg_summary_lane *lanes;      /* of funcgraph's traces: a lane's tasks run one after the other */
    struct fg_summary_threads *threads; /* of a kernel's: they take turns, and move from lane to lane */
    struct fg_parked_calls parked;
    struct fg_call_tree *tree; /* NULL: none is wanted */
    enum fg_tree_groups groups;
};

/* Adds an event to the figures. Return: 0; an error of fg_merge_damaged(); or -ENOMEM. */
int fg_summary_add(struct fg_summary *summary, struct fg_summary_lane *lane, const struct fg_event *event);

/* No event of the lane's task is left: its calls in progress end at its last event. Return: 0 or -ENOMEM. */
int fg_summary_finish_task(struct fg_summary *summary, struct fg_summary_lane *lane);

#endif
