/* See summary.h. */
#include "tracedata/view/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/ring/record.h"
#include "tracedata/view/parked_calls.h"
#include "tracedata/view/summary_lane.h"
#include "tracedata/view/summary_threads.h"

#define NO_TASK UINT32_MAX
#define NO_FUNCTION UINT32_MAX

struct fg_summary {
    struct fg_merge *merge;
    struct fg_function_summary *functions;
    uint32_t nr_functions;
    uint64_t *events; /* hits of each kind */
    size_t nr_events;
    struct fg_summary_lane *lanes;      /* of funcgraph's traces: a lane's tasks run one after the other */
    struct fg_summary_threads *threads; /* of a kernel's: they take turns, and move from lane to lane */
    struct fg_parked_calls parked;
};

int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary)
{
    uint32_t nr_functions = merge->names->nr_functions, nr_lanes = merge->file->nr_lanes;
    struct fg_summary *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->nr_functions = nr_functions;
    made->functions = calloc(nr_functions + (size_t)1, sizeof(*made->functions));
    made->nr_events = fg_trace_file_events(merge->file)->nr_types;
    made->events = calloc(made->nr_events + 1, sizeof(*made->events));
    made->lanes = calloc(nr_lanes + (size_t)1, sizeof(*made->lanes));
    if (merge->file->kernel)
        made->threads = fg_summary_threads_new(nr_functions);
    if (!made->functions || !made->events || !made->lanes || (merge->file->kernel && !made->threads)) {
        fg_summary_free(made);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i <= nr_functions; i++)
        made->functions[i].min_ns = UINT64_MAX;
    for (uint32_t i = 0; i < nr_lanes; i++)
        made->lanes[i].task = NO_TASK;
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
    free(summary);
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

static inline uint64_t minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* Ends the call at the top of the lane. */
static inline void close_call(struct fg_summary_lane *lane, struct fg_open_call *call)
{
    lane->running[call->func]--;
    call->is_open = false;
}

/* Ends the calls at `depth` and deeper, whose exits were lost. */
static inline void give_up_calls(struct fg_summary_lane *lane, uint32_t depth)
{
    while (lane->depth > depth) {
        struct fg_open_call *call = &lane->calls[--lane->depth];
        if (call->is_open)
            close_call(lane, call);
        call->callees_ns = 0;
    }
}

/* A stretch of a call took `ran_ns`: adds what is the function's own to it, and all of it to the caller's
 * callees. */
static inline void add_self(struct fg_summary_lane *lane, struct fg_function_summary *function,
                            uint32_t depth, uint64_t ran_ns)
{
    function->self_ns += minus(ran_ns, lane->calls[depth].callees_ns);
    lane->calls[depth].callees_ns = 0;
    if (depth)
        lane->calls[depth - 1].callees_ns += ran_ns;
}

/* A stretch that ended, of a call whose start or whose callers' starts are not known: adds to the total
 * what was not counted already for calls of the same function within it. */
static int add_unrooted(struct fg_summary *summary, struct fg_summary_lane *lane, uint32_t depth,
                        uint32_t func, uint64_t ran_ns)
{
    uint64_t inside_ns = fg_lane_settle_unrooted(lane, depth, func);
    if (lane->running[func]) /* within another call of it that is in progress */
        return 0;
    summary->functions[func].total_ns += minus(ran_ns, inside_ns);
    uint64_t counted_ns = ran_ns > inside_ns ? ran_ns : inside_ns;
    return fg_lane_add_unrooted(lane, depth, func, counted_ns, summary->nr_functions) ? 0 : -ENOMEM;
}

/* Adds the time of the call at `depth`, which has just ended. */
static inline int add_times(struct fg_summary *summary, struct fg_summary_lane *lane, uint32_t depth,
                            uint64_t ran_ns)
{
    const struct fg_open_call *call = &lane->calls[depth];
    struct fg_function_summary *function = &summary->functions[call->func];
    add_self(lane, function, depth, ran_ns);
    if (!call->is_rooted)
        return add_unrooted(summary, lane, depth, call->func, ran_ns);
    if (lane->nr_unrooted)
        fg_lane_drop_unrooted(lane, depth);
    if (!lane->running[call->func])
        function->total_ns += ran_ns;
    return 0;
}

/* No event of the task is left: its calls in progress end at its last event. How long they ran is not known
 * on a clock that does not count nanoseconds. */
static int finish_task(struct fg_summary *summary, struct fg_summary_lane *lane)
{
    while (lane->depth) {
        uint32_t depth = lane->depth - 1;
        struct fg_open_call *call = &lane->calls[depth];
        if (call->is_open) {
            close_call(lane, call);
            uint64_t ran_ns =
                summary->merge->file->unit == FG_UNIT_NS ? minus(lane->last_ns, call->began_ns) : 0;
            int error = add_times(summary, lane, depth, minus(ran_ns, lane->wait_ns - call->waited_ns));
            if (error)
                return error;
        }
        call->callees_ns = 0;
        lane->depth--;
    }
    fg_lane_drop_unrooted(lane, 0);
    return 0;
}

static inline uint32_t row_of(const struct fg_summary *summary, uint32_t func)
{
    return func < summary->nr_functions ? func : summary->nr_functions;
}

static inline int add_entry(struct fg_summary *summary, struct fg_summary_lane *lane,
                            const struct fg_event *event)
{
    struct fg_graph_event entry;
    if (!fg_decode_entry(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(summary->merge, event);
    uint32_t func = row_of(summary, entry.func), depth = entry.depth;
    if (depth >= lane->capacity && !fg_summary_lane_reserve(lane, depth, summary->nr_functions))
        return -ENOMEM;
    if (lane->depth > depth)
        give_up_calls(lane, depth);
    if (lane->nr_unrooted)
        fg_lane_settle_unrooted(lane, depth, NO_FUNCTION);

    bool is_resumed = entry.kind == FG_WIRE_RESUME;
    summary->functions[func].calls += !is_resumed;
    summary->functions[func].resumes += is_resumed;
    lane->calls[depth] = (struct fg_open_call){
        .func = func,
        .is_open = true,
        .is_rooted = depth == 0 || (lane->depth == depth && lane->calls[depth - 1].is_open &&
                                    lane->calls[depth - 1].is_rooted),
        .is_resumed = is_resumed,
        .began_ns = event->time_ns,
        .waited_ns = lane->wait_ns,
    };
    lane->running[func]++;
    lane->depth = depth + 1;
    return 0;
}

/* A call has ended with a stretch that took `ran_ns`. `is_whole`: it cannot have had unknown earlier
 * stretches. */
static inline void end_call(struct fg_summary *summary, struct fg_function_summary *function, uint64_t ran_ns,
                            struct fg_parked_call *parked, bool is_whole)
{
    if (parked) {
        ran_ns += parked->ran_ns;
        fg_parked_calls_remove(&summary->parked, parked);
    } else if (!is_whole) {
        return;
    }
    function->ended++;
    function->ended_ns += ran_ns;
    if (ran_ns < function->min_ns)
        function->min_ns = ran_ns;
    if (ran_ns > function->max_ns)
        function->max_ns = ran_ns;
}

static inline int add_exit(struct fg_summary *summary, struct fg_summary_lane *lane,
                           const struct fg_event *event)
{
    struct fg_graph_event exit;
    if (!fg_decode_exit(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(summary->merge, event);
    uint32_t func = row_of(summary, exit.func), depth = exit.depth;
    if (depth >= lane->capacity && !fg_summary_lane_reserve(lane, depth, summary->nr_functions))
        return -ENOMEM;
    if (lane->depth > depth + 1)
        give_up_calls(lane, depth + 1);

    struct fg_function_summary *function = &summary->functions[func];
    struct fg_open_call *call = &lane->calls[depth];
    bool has_entry = lane->depth == depth + 1 && call->is_open && call->func == func;
    int32_t pid = summary->merge->names->tasks[event->task].pid;
    uint64_t ran_ns = fg_duration_ns(&exit);
    struct fg_parked_call *parked =
        exit.has_start ? fg_parked_calls_find(&summary->parked, exit.start_ns, func, pid) : NULL;
    bool is_whole = !has_entry || !call->is_resumed;
    int error;

    if (has_entry) {
        close_call(lane, call);
        error = add_times(summary, lane, depth, ran_ns);
    } else {
        /* A call in progress at this depth is another one, whose exit was lost, and so was the entry of
         * this one. */
        uint64_t callees_ns = call->is_open ? 0 : call->callees_ns;
        give_up_calls(lane, depth);
        call->callees_ns = callees_ns;
        if (exit.kind == FG_WIRE_CLOSE) /* a suspended call may be closed without a resume */
            is_whole = false;
        else if (parked)
            function->resumes++;
        else
            function->calls++;
        add_self(lane, function, depth, ran_ns);
        error = add_unrooted(summary, lane, depth, func, ran_ns);
    }
    lane->depth = depth;
    if (error)
        return error;

    if (exit.kind == FG_WIRE_SUSPEND) {
        if (!exit.has_start)
            return 0;
        if (!parked && is_whole)
            parked = fg_parked_calls_add(&summary->parked, exit.start_ns, func, pid);
        if (!parked)
            return is_whole ? -ENOMEM : 0;
        parked->ran_ns += ran_ns;
        return 0;
    }
    function->exceptions += exit.kind == FG_WIRE_RAISE;
    end_call(summary, function, ran_ns, parked, is_whole);
    return 0;
}

static int add_event(struct fg_summary *summary, struct fg_summary_lane *lane, const struct fg_event *event)
{
    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
        return add_entry(summary, lane, event);
    case FG_EVENT_funcgraph_exit:
        return add_exit(summary, lane, event);
    case FG_EVENT_function: /* its tracer records calls without times */
        if (!fg_event_is_whole(event))
            return fg_merge_damaged(summary->merge, event);
        summary->functions[row_of(summary, fg_function_index(fg_event_function(event)->ip))].calls++;
        return 0;
    case FG_EVENT_recorder_wait:
        if (!fg_event_is_whole(event))
            return fg_merge_damaged(summary->merge, event);
        lane->wait_ns += fg_event_recorder_wait(event)->duration_ns;
        return 0;
    default:
        if ((size_t)event->type - FG_EVENT_FIRST_DYNAMIC < summary->nr_events)
            summary->events[event->type - FG_EVENT_FIRST_DYNAMIC]++;
        return 0;
    }
}

static int finish_threads(struct fg_summary *summary)
{
    int error = 0;

    for (size_t i = 0; i < summary->threads->n && !error; i++)
        if (summary->threads->lanes[i])
            error = finish_task(summary, summary->threads->lanes[i]);
    return error;
}

static int finish(struct fg_summary *summary)
{
    if (summary->threads)
        return finish_threads(summary);
    for (uint32_t i = 0; i < summary->merge->file->nr_lanes; i++) {
        int error = finish_task(summary, &summary->lanes[i]);
        if (error)
            return error;
    }
    return 0;
}

static inline int add_lane_event(struct fg_summary *summary, const struct fg_event *event)
{
    struct fg_summary_lane *lane = &summary->lanes[event->lane];

    if (lane->task != event->task) {
        int error = finish_task(summary, lane);

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
    size_t number;
    int error = fg_summary_thread_begin(threads, event, &number);

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
