/* See run_table.h. */
#include "tracedata/index/run_table.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/core/func_flags.h"
#include "engine/ring/record.h"
#include "tracedata/calls/call_events.h"

#define NO_ROOT UINT32_MAX
#define LEFT_OUT (UINT32_MAX - 1) /* a root that is only counted */
#define STEP 2                    /* the logarithm of how much longer the gaps are that are closed next */
#define MOST_GAP_BITS 62

struct run {
    uint64_t begin_ns, end_ns;
    uint64_t nr_calls;
    uint32_t root, task, depth, nr_depths;
};

/* A call that may be a root. */
struct call {
    struct run first; /* of a call that is no coroutine: its first stretch, until it turns out to be a root */
    uint64_t calls_before; /* those of the thread when the stretch began */
    uint32_t outer_deepest;
    uint32_t root; /* NO_ROOT: it is none so far; LEFT_OUT */
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
    struct fg_run_table *table;
    struct run *runs;
    size_t nr_runs, capacity;
    size_t most_runs;
    unsigned gap_bits;
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

/* ---- columns */

#define X(name, type, format, text)                                                                          \
    type *name = realloc(columns->name, capacity * sizeof(type));                                            \
    if (!name)                                                                                               \
        return -ENOMEM;                                                                                      \
    columns->name = name;

static int reserve_roots(struct fg_root_columns *columns, size_t capacity)
{
    if (capacity <= columns->capacity)
        return 0;
    capacity += capacity / 2 + 8;
    FG_ROOT_COLUMNS(X)
    columns->capacity = capacity;
    return 0;
}

static int reserve_runs(struct fg_run_columns *columns, size_t capacity)
{
    FG_RUN_COLUMNS(X)
    columns->capacity = capacity;
    return 0;
}
#undef X

void fg_run_table_free(struct fg_run_table *table)
{
#define X(name, type, format, text) free(table->roots.name);
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text) free(table->runs.name);
    FG_RUN_COLUMNS(X)
#undef X
    *table = (struct fg_run_table){0};
}

/* ---- runs */

static int compare(const void *a, const void *b)
{
    const struct run *one = a, *other = b;

    if (one->root != other->root)
        return one->root < other->root ? -1 : 1;
    return (one->begin_ns > other->begin_ns) - (one->begin_ns < other->begin_ns);
}

static void sort_runs(struct maker *maker)
{
    if (maker->nr_runs)
        qsort(maker->runs, maker->nr_runs, sizeof(*maker->runs), compare);
}

static bool are_close(const struct run *one, const struct run *next, unsigned gap_bits)
{
    return one->root == next->root && one->task == next->task && one->depth == next->depth &&
           next->begin_ns <= one->end_ns + (UINT64_C(1) << gap_bits);
}

/* Closes gaps between runs of one root, longer ones until there are half as many runs as there may be. */
FG_NOINLINE static void close_gaps(struct maker *maker)
{
    sort_runs(maker);
    while (maker->nr_runs > maker->most_runs / 2 && maker->gap_bits < MOST_GAP_BITS) {
        size_t n = 0;

        maker->gap_bits += STEP;
        for (size_t i = 0; i < maker->nr_runs; i++) {
            if (n && are_close(&maker->runs[n - 1], &maker->runs[i], maker->gap_bits))
                maker->runs[n - 1].end_ns = maker->runs[i].end_ns;
            else
                maker->runs[n++] = maker->runs[i];
        }
        maker->nr_runs = n;
    }
    if (maker->nr_runs > maker->most_runs / 2)
        maker->most_runs = 2 * maker->nr_runs; /* there are so many roots and threads */
}

static int add_run(struct maker *maker, const struct run *run)
{
    struct fg_root_columns *roots = &maker->table->roots;

    if (fg_array_reserve(&maker->runs, &maker->capacity, maker->nr_runs + 1) < 0)
        return -ENOMEM;
    maker->runs[maker->nr_runs++] = *run;
    roots->ran_ns[run->root] += run->end_ns - run->begin_ns;
    roots->calls[run->root] += run->nr_calls;
    if (run->nr_depths > roots->depths[run->root])
        roots->depths[run->root] = run->nr_depths;
    if (run->begin_ns < roots->begin_ns[run->root])
        roots->begin_ns[run->root] = run->begin_ns;
    if (run->end_ns > roots->end_ns[run->root])
        roots->end_ns[run->root] = run->end_ns;
    if (maker->nr_runs > maker->most_runs)
        close_gaps(maker);
    return 0;
}

static int add_root(struct maker *maker, struct call *call, uint32_t func, bool is_greenlet)
{
    struct fg_root_columns *roots = &maker->table->roots;

    if (roots->n >= maker->source->most_roots) {
        maker->table->nr_left_out++;
        call->root = LEFT_OUT;
        return 0;
    }
    if (reserve_roots(roots, roots->n + 1) < 0)
        return -ENOMEM;
    call->root = (uint32_t)roots->n++;
    roots->begin_ns[call->root] = UINT64_MAX;
    roots->end_ns[call->root] = roots->ran_ns[call->root] = 0;
    roots->calls[call->root] = roots->first[call->root] = 0;
    roots->function[call->root] = func;
    roots->maker[call->root] = call->maker;
    roots->runs[call->root] = roots->depths[call->root] = 0;
    roots->greenlet[call->root] = is_greenlet;
    if (!call->has_first)
        return 0;
    call->first.root = call->root;
    call->has_first = false;
    return add_run(maker, &call->first);
}

/* ---- what becomes of calls */

static uint32_t function_around(const struct maker *maker, const struct fg_stretch *stretch);

/* Whether the coroutine is awaited: the call around it can be suspended, too. */
static bool is_awaited(const struct maker *maker, const struct fg_stretch *stretch)
{
    return (flags_of(maker, function_around(maker, stretch)) & FG_FUNC_SUSPENDS) != 0;
}

static int begin_run(struct maker *maker, const struct fg_stretch *stretch, struct call *call)
{
    call->is_run = true;
    return call->root == NO_ROOT ? add_root(maker, call, stretch->level->func, false) : 0;
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
    struct run run = {.begin_ns = stretch->level->entered_ns,
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
        return call->root == LEFT_OUT ? 0 : add_run(maker, &run);
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

    return parent && parent->func < maker->source->nr_functions ? parent->func : FG_FUNC_UNKNOWN;
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
    return call->root == NO_ROOT ? add_root(maker, call, stretch->level->func, true) : 0;
}

/* ---- the end */

static int take_runs(struct maker *maker)
{
    struct fg_run_columns *columns = &maker->table->runs;
    struct fg_root_columns *roots = &maker->table->roots;

    sort_runs(maker);
    if (reserve_runs(columns, maker->nr_runs + 1) < 0 || reserve_roots(roots, roots->n + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < maker->nr_runs; i++) {
        const struct run *run = &maker->runs[i];

        columns->begin_ns[i] = run->begin_ns;
        columns->end_ns[i] = run->end_ns;
        columns->root[i] = run->root;
        columns->task[i] = run->task;
        columns->depth[i] = run->depth;
        if (!roots->runs[run->root]++)
            roots->first[run->root] = i;
    }
    columns->n = maker->nr_runs;
    return 0;
}

int fg_run_table_make(struct fg_run_table *table, const struct fg_run_source *source)
{
    struct maker maker = {.source = source, .table = table, .most_runs = source->most_runs};
    int error;

    fg_call_assembler_init(&maker.calls, &consumer, source->merge->names,
                           source->merge->file->unit == FG_UNIT_NS);
    error = fg_calls_run(&consumer, &maker.calls, source->merge, UINT64_MAX);
    if (!error)
        error = take_runs(&maker);
    fg_call_assembler_free(&maker.calls);
    free(maker.runs);
    return error;
}
