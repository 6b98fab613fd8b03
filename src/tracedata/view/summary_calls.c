/* See summary_calls.h. */
#include "tracedata/view/summary_calls.h"

#include <errno.h>
#include <stdio.h>

#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/view/tree_lane.h"

#define NO_FUNCTION UINT32_MAX

/* A call: behind its level, or in the table of calls with a name. */
struct summary_call {
    uint64_t ran_ns;        /* sum of the stretches that have ended */
    uint64_t native_before; /* native_ns of the thread when this stretch began */
    bool is_rooted;         /* this stretch: the starts of all calls around it are known */
    bool is_whole;          /* all stretches are in the trace */
};

static inline struct fg_summary *summary_of(struct fg_call_assembler *calls)
{
    return (struct fg_summary *)(void *)calls;
}

static inline struct fg_summary_thread *thread_of(const struct fg_stretch *stretch)
{
    return (struct fg_summary_thread *)(void *)stretch->thread;
}

/* The node of a call; only if there is a tree. */
static inline struct fg_call_node *node_of(const struct fg_summary *summary, const struct fg_stretch *stretch)
{
    return &summary->tree->nodes[thread_of(stretch)->lane->tree.places[stretch->depth].node];
}

/* ---- times */

/* A stretch that ended, of a call whose start or whose callers' starts are not known: adds to the total
 * what was not counted already for calls of the same function within it. */
FG_NOINLINE static int add_unrooted(struct fg_summary *summary, struct fg_stretch stretch)
{
    struct fg_summary_lane *lane = thread_of(&stretch)->lane;
    uint32_t func = stretch.level->func;
    uint64_t inside_ns = fg_lane_settle_unrooted(lane, stretch.depth, func);
    bool is_inner = lane->running[func] > 0; /* within another call of it that is in progress */
    uint64_t counted_ns = stretch.ran_ns > inside_ns || is_inner ? stretch.ran_ns : inside_ns;

    if (summary->tree)
        node_of(summary, &stretch)->total_ns += counted_ns;
    if (is_inner)
        return 0;
    summary->functions[func].total_ns += counted_ns - inside_ns;
    return fg_lane_add_unrooted(lane, stretch.depth, func, counted_ns, summary->nr_functions) ? 0 : -ENOMEM;
}

/* The time of native functions within a stretch that has ended. Those deeper have ended before. */
FG_NOINLINE static void add_native(struct fg_summary *summary, const struct fg_stretch *stretch)
{
    struct fg_summary_thread *thread = thread_of(stretch);
    const struct summary_call *call = stretch->call;
    uint32_t func = stretch->level->func;

    if (func < summary->nr_functions && summary->merge->names->functions[func].size_bytes)
        thread->native_ns += stretch->self_ns;
    if (!thread->lane->running[func])
        summary->functions[func].native_ns += thread->native_ns - call->native_before;
}

/* Adds the time of a stretch that has ended. */
FG_ASSEMBLE int add_times(struct fg_summary *summary, const struct fg_stretch *stretch)
{
    struct fg_summary_lane *lane = thread_of(stretch)->lane;
    struct summary_call *call = stretch->call;
    struct fg_function_summary *function = &summary->functions[stretch->level->func];

    call->ran_ns += stretch->ran_ns;
    function->self_ns += stretch->self_ns;
    if (fg_unlikely(summary->has_native))
        add_native(summary, stretch);
    if (summary->tree)
        node_of(summary, stretch)->self_ns += stretch->self_ns;
    if (!call->is_rooted)
        return add_unrooted(summary, *stretch);
    if (lane->nr_unrooted)
        fg_lane_drop_unrooted(lane, stretch->depth);
    if (!lane->running[stretch->level->func])
        function->total_ns += stretch->ran_ns;
    if (summary->tree)
        node_of(summary, stretch)->total_ns += stretch->ran_ns;
    return 0;
}

/* A stretch whose begin is known is over. */
FG_ASSEMBLE void close_stretch(struct fg_summary *summary, const struct fg_stretch *stretch)
{
    struct fg_summary_lane *lane = thread_of(stretch)->lane;

    lane->running[stretch->level->func]--;
    if (summary->tree)
        fg_tree_end(summary->tree, &lane->tree, stretch->depth);
}

/* ---- functions */

FG_ASSEMBLE uint32_t row_of(const struct fg_summary *summary, uint32_t func)
{
    if (fg_likely(func < summary->nr_functions))
        return func;
    return summary->nr_functions + fg_is_import(summary->merge->names, func);
}

/* A function's number in the tree: there each import is one of its own. */
static inline uint32_t tree_function(const struct fg_summary *summary, uint32_t func)
{
    return func < summary->nr_functions || fg_is_import(summary->merge->names, func) ? func
                                                                                     : summary->nr_functions;
}

/* Adds the calls that were folded into an import. @node: the import's, if there is a tree. */
static inline void add_folded(struct fg_summary *summary, const struct fg_event *event,
                              struct fg_call_node *node)
{
    const struct fg_folded folded = fg_event_folded(event);
    struct fg_function_summary *row = &summary->functions[summary->nr_functions + 1];

    row->calls += folded.calls;
    row->resumes += folded.resumes;
    row->exceptions += folded.exceptions;
    if (!node)
        return;
    node->calls += folded.calls;
    node->resumes += folded.resumes;
    node->exceptions += folded.exceptions;
}

/* ---- what becomes of calls */

/* A stretch is met for the first time, at its begin or its end: finds its place in the tree. */
FG_ASSEMBLE int place_stretch(struct fg_summary *summary, const struct fg_stretch *stretch,
                              const struct fg_event *event, const struct fg_call_level *parent)
{
    struct fg_summary_thread *thread = thread_of(stretch);
    uint32_t func;

    if (!summary->tree)
        return 0;
    func = tree_function(summary, fg_event_graph(event)->func);
    return stretch->level->is_late ? fg_tree_begin_late(summary->tree, &thread->lane->tree, thread->root,
                                                        stretch->depth, parent != NULL, func)
                                   : fg_tree_begin(summary->tree, &thread->lane->tree, thread->root,
                                                   stretch->depth, parent != NULL, func);
}

FG_ASSEMBLE int begin_stretch(struct fg_summary *summary, const struct fg_stretch *stretch,
                              const struct fg_event *event)
{
    struct fg_call_level *parent = fg_parent_level(&fg_summary_consumer, stretch);
    struct fg_summary_lane *lane = thread_of(stretch)->lane;
    struct summary_call *call = stretch->call;

    call->is_rooted = false;
    call->native_before = thread_of(stretch)->native_ns;
    if (!stretch->level->is_late) {
        call->is_rooted = stretch->depth == 0 ||
                          (parent && ((struct summary_call *)fg_call_of(&summary->calls, parent))->is_rooted);
        lane->running[stretch->level->func]++;
        if (lane->nr_unrooted)
            fg_lane_settle_unrooted(lane, stretch->depth, NO_FUNCTION);
    }
    return place_stretch(summary, stretch, event, parent);
}

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_function_summary *function = &summary->functions[stretch->level->func];
    bool is_late = stretch->level->is_late, is_resumed = stretch->level->is_resumed;
    /* A suspended call may be closed without a resume. */
    bool is_start = !is_resumed && !(is_late && graph->kind == FG_EXIT_CLOSE);
    int error;

    *(struct summary_call *)stretch->call =
        (struct summary_call){.is_whole = fg_begins_whole(stretch->level, graph)};
    error = begin_stretch(summary, stretch, event);
    if (error)
        return error;
    function->calls += is_start;
    function->resumes += is_resumed;
    if (summary->tree) {
        node_of(summary, stretch)->calls += is_start;
        node_of(summary, stretch)->resumes += is_resumed;
    }
    return 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    struct fg_summary *summary = summary_of(calls);
    bool is_resume = fg_is_resume(stretch->level, graph);
    int error = begin_stretch(summary, stretch, event);

    if (error)
        return error;
    summary->functions[stretch->level->func].resumes += is_resume;
    if (summary->tree)
        node_of(summary, stretch)->resumes += is_resume;
    return 0;
}

/* A stretch ended at its event. */
FG_ASSEMBLE int end_stretch(struct fg_summary *summary, const struct fg_stretch *stretch,
                            const struct fg_event *event)
{
    int error;

    if (!stretch->level->is_late)
        close_stretch(summary, stretch);
    error = add_times(summary, stretch);
    if (fg_unlikely(stretch->level->func > summary->nr_functions))
        add_folded(summary, event, summary->tree ? node_of(summary, stretch) : NULL);
    return error;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    (void)graph;
    return end_stretch(summary_of(calls), stretch, event);
}

static inline void add_length(struct fg_function_summary *function, uint64_t ran_ns)
{
    function->ended++;
    function->ended_ns += ran_ns;
    if (ran_ns < function->min_ns)
        function->min_ns = ran_ns;
    if (ran_ns > function->max_ns)
        function->max_ns = ran_ns;
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *graph, const void *event)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_function_summary *function = &summary->functions[stretch->level->func];
    const struct summary_call *call = stretch->call;
    int error = end_stretch(summary, stretch, event);

    if (graph->kind == FG_EXIT_RAISE) {
        function->exceptions++;
        if (summary->tree)
            node_of(summary, stretch)->exceptions++;
    }
    if (call->is_whole && graph->kind != FG_EXIT_SUSPEND)
        add_length(function, call->ran_ns);
    return error;
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_summary_lane *lane = thread_of(stretch)->lane;

    (void)until_ns, (void)goes_on;
    ((struct summary_call *)stretch->call)->is_whole = false;
    close_stretch(summary, stretch);
    if (gap != FG_GAP_LOST)
        return add_times(summary, stretch);
    if (lane->nr_unrooted)
        fg_lane_settle_unrooted(lane, stretch->depth, NO_FUNCTION);
    return 0;
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    (void)calls, (void)named, (void)call;
    return 0;
}

static inline void release_lane(struct fg_summary *summary, struct fg_summary_thread *thread)
{
    struct fg_summary_lane *lane = thread->lane;

    if (!lane || lane->nr_unrooted || lane->tree.nr_branches)
        return;
    fg_summary_lanes_give_back(&summary->lanes, lane);
    thread->lane = NULL;
}

static int finish(struct fg_call_assembler *calls, struct fg_call_thread *call_thread)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_summary_thread *thread = (struct fg_summary_thread *)(void *)call_thread;

    if (!thread->lane)
        return 0;
    fg_lane_drop_unrooted(thread->lane, 0);
    if (summary->tree)
        fg_tree_settle(summary->tree, &thread->lane->tree, 0, thread->root);
    release_lane(summary, thread);
    return 0;
}

/* ---- events */

/* An import's end is not in the trace. */
static void add_unfinished_import(struct fg_summary *summary, const struct fg_summary_thread *thread,
                                  const struct fg_event *event)
{
    uint32_t depth = ((const struct fg_folded_event *)event->data)->depth;

    if (depth < thread->thread.depth && fg_level_at(&fg_summary_consumer, &thread->thread, depth)->is_open)
        add_folded(summary, event,
                   summary->tree ? &summary->tree->nodes[thread->lane->tree.places[depth].node] : NULL);
}

/* The function tracer records calls without times: of each its function, and that of its caller. */
static int add_function(struct fg_summary *summary, const struct fg_summary_thread *thread,
                        const struct fg_event *event)
{
    const struct fg_flat_data *call = fg_event_function(event);
    uint32_t func = row_of(summary, call->func), node = thread->root;

    summary->functions[func].calls++;
    if (!summary->tree)
        return 0;
    if (call->caller < summary->nr_functions)
        node = fg_call_tree_child(summary->tree, node, call->caller);
    if (node)
        node = fg_call_tree_child(summary->tree, node, func);
    if (!node)
        return -ENOMEM;
    summary->tree->nodes[node].calls++;
    return 0;
}

FG_NOINLINE static int other_event(struct fg_call_assembler *calls, struct fg_call_thread *call_thread,
                                   const struct fg_event *event)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_summary_thread *thread = (struct fg_summary_thread *)(void *)call_thread;

    if (event->type == FG_EVENT_FOLDED)
        add_unfinished_import(summary, thread, event);
    else if (event->type == FG_EVENT_function)
        return add_function(summary, thread, event);
    else if ((size_t)event->type - FG_EVENT_FIRST_DYNAMIC < summary->nr_events)
        summary->events[event->type - FG_EVENT_FIRST_DYNAMIC]++;
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

FG_NOINLINE static int set_root(struct fg_summary *summary, struct fg_summary_thread *thread, uint32_t task)
{
    thread->task = task;
    thread->root = fg_call_tree_root(summary->tree, group_of(summary, task));
    return thread->root ? 0 : -ENOMEM;
}

FG_NOINLINE static int take_lane(struct fg_summary *summary, struct fg_summary_thread *thread)
{
    int error = fg_summary_lanes_take(&summary->lanes, &thread->lane);

    if (error != -ENOSPC)
        return error;
    snprintf(summary->merge->reason, sizeof(summary->merge->reason),
             "too many threads are in calls at the same time");
    return -EINVAL;
}

FG_ASSEMBLE uint32_t function_of(const struct fg_call_assembler *calls, uint32_t func)
{
    return row_of((const struct fg_summary *)(const void *)calls, func);
}

FG_ASSEMBLE int before_event(struct fg_call_assembler *calls, struct fg_call_thread *call_thread,
                             const struct fg_event *event)
{
    struct fg_summary *summary = summary_of(calls);
    struct fg_summary_thread *thread = (struct fg_summary_thread *)(void *)call_thread;
    int error = 0;

    if (summary->tree && fg_unlikely(thread->task != event->task || !thread->root))
        error = set_root(summary, thread, event->task);
    if (!error && fg_event_is_call(event->type) && !thread->lane)
        error = take_lane(summary, thread);
    return error;
}

FG_ASSEMBLE void after_event(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                             const struct fg_event *event)
{
    if (event->type == FG_EVENT_funcgraph_exit && fg_event_graph(event)->depth == 0)
        release_lane(summary_of(calls), (struct fg_summary_thread *)(void *)thread);
}

const struct fg_call_consumer fg_summary_consumer = {
    .call_bytes = sizeof(struct summary_call),
    .thread_bytes = sizeof(struct fg_summary_thread),
    .names_calls = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .finish = finish,
    .pid = fg_event_pid,
    .function_of = function_of,
    .before_event = before_event,
    .after_event = after_event,
    .other_event = other_event,
};

int fg_summary_run(struct fg_summary *summary, uint64_t events)
{
    return fg_calls_run(&fg_summary_consumer, &summary->calls, summary->merge, events);
}
