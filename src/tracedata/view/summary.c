/* See summary.h. */
#include "tracedata/view/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracedata/view/summary_calls.h"

int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary)
{
    uint32_t nr_functions = merge->names->nr_functions, nr_lanes = merge->file->nr_lanes;
    struct fg_summary *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->nr_functions = nr_functions;
    made->functions = calloc(FG_SUMMARY_ROWS(nr_functions), sizeof(*made->functions));
    made->nr_events = fg_trace_file_events(merge->file)->nr_types;
    made->events = calloc(made->nr_events + 1, sizeof(*made->events));
    made->lanes = calloc(nr_lanes + (size_t)1, sizeof(*made->lanes));
    if (merge->file->kernel)
        made->threads = fg_summary_threads_new(nr_functions);
    if (!made->functions || !made->events || !made->lanes || (merge->file->kernel && !made->threads)) {
        fg_summary_free(made);
        return -ENOMEM;
    }
    for (size_t i = 0; i < FG_SUMMARY_ROWS(nr_functions); i++)
        made->functions[i].min_ns = UINT64_MAX;
    for (uint32_t i = 0; i < nr_lanes; i++)
        made->lanes[i].task = FG_SUMMARY_NO_TASK;
    *summary = made;
    return 0;
}

void fg_summary_free(struct fg_summary *summary)
{
    if (!summary)
        return;
    for (uint32_t i = 0; summary->lanes && i < summary->merge->file->nr_lanes; i++)
        fg_summary_lane_free(&summary->lanes[i]);
    free(summary->lanes);
    fg_summary_threads_free(summary->threads);
    free(summary->functions);
    free(summary->events);
    fg_parked_calls_free(&summary->parked);
    fg_call_tree_free(summary->tree);
    free(summary);
}

int fg_summary_grow_tree(struct fg_summary *summary, enum fg_tree_groups groups)
{
    summary->groups = groups;
    summary->tree = fg_call_tree_new();
    return summary->tree ? 0 : -ENOMEM;
}

const struct fg_call_tree *fg_summary_tree(const struct fg_summary *summary)
{
    return summary->tree;
}

const struct fg_function_summary *fg_summary_functions(const struct fg_summary *summary)
{
    return summary->functions;
}

const uint64_t *fg_summary_events(const struct fg_summary *summary, size_t *n)
{
    *n = summary->nr_events;
    return summary->events;
}

static int finish_threads(struct fg_summary *summary)
{
    int error = 0;

    for (size_t i = 0; i < summary->threads->n && !error; i++)
        if (summary->threads->lanes[i])
            error = fg_summary_finish_task(summary, summary->threads->lanes[i]);
    return error;
}

static int finish(struct fg_summary *summary)
{
    if (summary->threads)
        return finish_threads(summary);
    for (uint32_t i = 0; i < summary->merge->file->nr_lanes; i++) {
        int error = fg_summary_finish_task(summary, &summary->lanes[i]);
        if (error)
            return error;
    }
    return 0;
}

static uint32_t group_of(const struct fg_summary *summary, uint32_t task)
{
    const struct fg_task_name *name = &summary->merge->names->tasks[task];

    switch (summary->groups) {
    case FG_TREE_BY_TASK:
        return name->number;
    case FG_TREE_BY_PROCESS:
        return (uint32_t)name->pid;
    default:
        return 0;
    }
}

static int add_event(struct fg_summary *summary, struct fg_summary_lane *lane, const struct fg_event *event)
{
    if (summary->tree && (lane->tree.task != event->task || !lane->tree.root)) {
        lane->tree.task = event->task;
        lane->tree.root = fg_call_tree_root(summary->tree, group_of(summary, event->task));
        if (!lane->tree.root)
            return -ENOMEM;
    }
    return fg_summary_add(summary, lane, event);
}

static inline int add_lane_event(struct fg_summary *summary, const struct fg_event *event)
{
    struct fg_summary_lane *lane = &summary->lanes[event->lane];

    if (lane->task != event->task) {
        int error = fg_summary_finish_task(summary, lane);

        lane->task = event->task;
        if (error)
            return error;
    }
    lane->last_ns = event->time_ns;
    return add_event(summary, lane, event);
}

static int add_thread_event(struct fg_summary *summary, const struct fg_event *event)
{
    struct fg_summary_threads *threads = summary->threads;
    uint32_t number = event->thread;
    int error = fg_summary_thread_begin(threads, number);

    if (error == -ENOSPC) {
        snprintf(summary->merge->reason, sizeof(summary->merge->reason),
                 "too many threads are in calls at the same time");
        return -EINVAL;
    }
    if (error)
        return error;
    threads->lanes[number]->last_ns = event->time_ns;
    error = add_event(summary, threads->lanes[number], event);
    if (!error)
        fg_summary_thread_end(threads, number);
    return error;
}

int fg_summary_run(struct fg_summary *summary, uint64_t events)
{
    struct fg_event event;
    while (events--) {
        int result = fg_merge_next(summary->merge, &event);
        if (result < 0)
            return result;
        if (result == 0)
            return finish(summary);
        int error = summary->threads ? add_thread_event(summary, &event) : add_lane_event(summary, &event);
        if (error)
            return error;
    }
    return 1;
}
