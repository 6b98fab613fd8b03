/* See run_maker.h. */
#include "tracedata/index/run_maker.h"

#include "engine/core/func_flags.h"
#include "engine/ring/record.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/index/cpu_runs.h"
#include "tracedata/index/run_set.h"

#define NO_ROOT UINT32_MAX

/* A call that may be a root. */
struct call {
    struct fg_run
        first; /* of a call that is no coroutine: its first stretch, until it turns out to be a root */
    uint64_t calls_before; /* those of the thread when the stretch began */
    uint32_t outer_deepest;
    uint32_t root; /* NO_ROOT: it is none so far; FG_LEFT_OUT */
    uint32_t maker;
    bool has_first;
    bool is_run; /* the stretch in progress is a run */
};

struct run_thread {
    struct fg_call_thread thread;
    uint32_t resumed_depth; /* 1 + the depth of its latest event, if that was a resume; else 0 */
    uint32_t deepest;       /* depth since the innermost stretch began */
    uint64_t nr_calls;
};

struct maker {
    struct fg_call_assembler calls;
    const struct fg_run_source *source;
    struct fg_run_set set;
};

static inline struct maker *maker_of(struct fg_call_assembler *calls)
{
    return (struct maker *)(void *)calls;
}

static inline struct run_thread *thread_of(const struct fg_stretch *stretch)
{
    return (struct run_thread *)(void *)stretch->thread;
}

static uint8_t flags_of(const struct maker *maker, uint32_t func)
{
    return func < maker->source->nr_functions ? maker->source->func_flags[func] : 0;
}

/* The number of a function in a table of runs. */
static uint32_t number_in_table(const struct maker *maker, uint32_t func)
{
    return func < maker->source->nr_functions ? func : FG_FUNC_UNKNOWN;
}

/* ---- what becomes of calls */

static uint32_t function_around(const struct maker *maker, const struct fg_stretch *stretch);

/* Whether the coroutine is awaited: the call around it can be suspended, too. */
static bool is_awaited(const struct maker *maker, const struct fg_stretch *stretch)
{
    return (flags_of(maker, function_around(maker, stretch)) & FG_FUNC_SUSPENDS) != 0;
}

static int add_root(struct maker *maker, struct call *call, uint32_t func, enum fg_root_kind kind)
{
    struct fg_run_root root = {
        .func = number_in_table(maker, func), .maker = call->maker, .cpu = FG_NO_CPU, .kind = kind};
    int error = fg_run_set_add_root(&maker->set, &root, &call->root);

    if (error || call->root == FG_LEFT_OUT || !call->has_first)
        return error;
    call->first.root = call->root;
    call->has_first = false;
    return fg_run_set_add(&maker->set, &call->first);
}

static int begin_run(struct maker *maker, const struct fg_stretch *stretch, struct call *call)
{
    call->is_run = true;
    return call->root == NO_ROOT ? add_root(maker, call, stretch->level->func, FG_ROOT_coroutine) : 0;
}

static int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                 const struct fg_graph_data *graph, const void *event);
static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event);

/* The stretch is over. */
static int end_run(struct maker *maker, const struct fg_stretch *stretch, uint64_t end_ns)
{
    struct run_thread *thread = thread_of(stretch);
    struct call *call = stretch->call;
    struct fg_run run = {.begin_ns = stretch->level->entered_ns,
                         .end_ns = end_ns,
                         .nr_calls = thread->nr_calls - call->calls_before,
                         .root = call->root,
                         .task = fg_task_number(&maker->calls, stretch->thread),
                         .depth = stretch->depth,
                         .nr_depths = 1};

    if (thread->deepest > stretch->depth)
        run.nr_depths += thread->deepest - stretch->depth;
    if (thread->deepest < call->outer_deepest)
        thread->deepest = call->outer_deepest;

    if (run.end_ns < run.begin_ns)
        run.end_ns = run.begin_ns;
    if (call->is_run) {
        call->is_run = false;
        return call->root == FG_LEFT_OUT ? 0 : fg_run_set_add(&maker->set, &run);
    }
    if (!stretch->level->is_resumed && !(flags_of(maker, stretch->level->func) & FG_FUNC_SUSPENDS)) {
        call->first = run;
        call->has_first = true;
    }
    return 0;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    (void)graph;
    return end_run(maker_of(calls), stretch, ((const struct fg_event *)event)->time_ns);
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    (void)gap, (void)until_ns, (void)goes_on;
    return end_run(maker_of(calls), stretch, stretch->thread->last_ns);
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    (void)calls, (void)named, (void)call;
    return 0;
}

static void after_event(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_event *event)
{
    const struct fg_graph_data *graph;
    bool resumes;

    (void)calls;
    if (!fg_event_is_call(event->type))
        return;
    graph = fg_event_graph(event);
    resumes = event->type == FG_EVENT_funcgraph_entry && graph->kind == FG_ENTRY_RESUME;
    ((struct run_thread *)(void *)thread)->resumed_depth = resumes ? graph->depth + 1 : 0;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct run_thread),
    .names_calls = true,
    .function_of = fg_known_function,
    .after_event = after_event,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = suspend,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
};

static uint32_t function_around(const struct maker *maker, const struct fg_stretch *stretch)
{
    const struct fg_call_level *parent = fg_parent_level(&consumer, stretch);

    return parent ? number_in_table(maker, parent->func) : FG_FUNC_UNKNOWN;
}

static int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                 const struct fg_graph_data *graph, const void *event)
{
    struct call *call = stretch->call;
    int error;

    *call = (struct call){.root = NO_ROOT, .maker = function_around(maker_of(calls), stretch)};
    error = resume(calls, stretch, graph, event);
    thread_of(stretch)->nr_calls++; /* it is itself one of the calls */
    return error;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    struct maker *maker = maker_of(calls);
    struct run_thread *thread = thread_of(stretch);
    struct call *call = stretch->call;
    uint8_t flags = flags_of(maker, stretch->level->func);
    bool follows = thread->resumed_depth && thread->resumed_depth == stretch->depth;

    (void)graph, (void)event;
    call->calls_before = thread->nr_calls;
    call->outer_deepest = thread->deepest;
    thread->deepest = stretch->depth;
    if (flags & FG_FUNC_COROUTINE)
        return is_awaited(maker, stretch) ? 0 : begin_run(maker, stretch, call);
    if (flags & FG_FUNC_SUSPENDS || !stretch->level->is_resumed || follows)
        return 0;
    call->is_run = true;
    return call->root == NO_ROOT ? add_root(maker, call, stretch->level->func, FG_ROOT_greenlet) : 0;
}

static int make_coroutine_runs(struct fg_run_set *set, const struct fg_run_source *source)
{
    struct maker maker = {.source = source, .set = *set};
    int error;

    fg_call_assembler_init(&maker.calls, &consumer, source->merge->names,
                           source->merge->file->unit == FG_UNIT_NS);
    error = fg_calls_run(&consumer, &maker.calls, source->merge, UINT64_MAX);
    fg_call_assembler_free(&maker.calls);
    *set = maker.set;
    return error;
}

int fg_run_table_make(struct fg_run_table *table, const struct fg_run_source *source)
{
    struct fg_run_set set = {
        .table = table, .most_runs = source->most_runs, .most_roots = source->most_roots};
    int error = source->merge->file->kernel ? fg_cpu_runs_make(&set, source->merge)
                                            : make_coroutine_runs(&set, source);

    if (!error)
        error = fg_run_set_finish(&set);
    fg_run_set_free(&set);
    return error;
}
