/* See slices.h. */
#include "tracedata/export/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/calls/assemble.h"

#define MAX_THREADS (1u << 24)

/* A call: what its rows have of it. */
struct call {
    uint32_t func, parent, caller, caller_line;
    uint32_t task; /* of its latest stretch */
    uint32_t resumes;
    bool is_irq;
    bool is_whole; /* all its stretches are in the trace */
    uint64_t id, above, root;
    uint64_t call_ns;  /* when it first began */
    uint64_t begin_ns; /* its latest stretch */
    uint64_t ran_ns, self_ns;
    uint8_t *values; /* its arguments; NULL: none */
    size_t values_bytes;
};

/* One batch on its way from events to slices. */
struct run {
    const struct fg_columns *columns;
    struct fg_slice_tasks tasks;
    struct fg_slices *slices;
    size_t i; /* the event */
};

struct fg_slicer {
    struct fg_call_assembler calls;
    struct fg_slicer_options options;
    uint64_t next_id;
    struct run run;
};

static inline struct fg_slicer *slicer_of(struct fg_call_assembler *calls)
{
    return (struct fg_slicer *)(void *)calls;
}

/* ---- adding slices */

void fg_slices_free(struct fg_slices *slices)
{
#define X(name, type, format, text) free(slices->name);
    FG_SLICES(X)
#undef X
    free(slices->data_offsets);
    free(slices->data);
    *slices = (struct fg_slices){0};
}

static int grow(struct fg_slices *slices)
{
    size_t capacity = slices->capacity ? slices->capacity * 2 : 1024;
    void *grown;

#define X(name, type, format, text)                                                                          \
    grown = realloc(slices->name, capacity * sizeof(type));                                                  \
    if (grown == NULL)                                                                                       \
        return -ENOMEM;                                                                                      \
    slices->name = grown;
    FG_SLICES(X)
    X(data_offsets, int32_t, , )
#undef X
    /* One offset more than slices: a slot of the array stays unused. */
    slices->data_offsets[slices->n] = (int32_t)slices->data_bytes;
    slices->capacity = capacity;
    return fg_array_reserve(&slices->data, &slices->data_capacity, 1);
}

/* Adds what a call has of a slice. The slice's own parts are the caller's to set. Return: its place; or a
 * negative errno. */
static inline int64_t put(struct fg_slices *slices, const struct call *call, uint32_t thread, uint32_t depth)
{
    size_t i = slices->n;

    if (fg_unlikely(i + 1 >= slices->capacity) && grow(slices) < 0)
        return -ENOMEM;
    slices->call_ns[i] = call->call_ns;
    slices->begin_ns[i] = call->begin_ns;
    slices->id[i] = call->id;
    slices->above[i] = call->above;
    slices->root[i] = call->root;
    slices->function[i] = call->func;
    slices->parent[i] = call->parent;
    slices->caller[i] = call->caller;
    slices->caller_line[i] = call->caller_line;
    slices->thread[i] = thread;
    slices->task[i] = call->task;
    slices->depth[i] = depth;
    slices->resumes[i] = call->resumes;
    slices->flags[i] = call->is_irq ? FG_SLICE_IRQ : 0;
    slices->data_offsets[i + 1] = (int32_t)slices->data_bytes;
    slices->n++;
    return (int64_t)i;
}

static inline bool is_requested(const struct fg_slicer *slicer, enum fg_slice_what what)
{
    return slicer->options.whats >> what & 1;
}

static int put_begin(struct fg_slicer *slicer, const struct fg_stretch *stretch, enum fg_slice_what what)
{
    struct fg_slices *slices = slicer->run.slices;
    const struct call *call = stretch->call;
    int64_t i;

    if (!is_requested(slicer, what))
        return 0;
    i = put(slices, call, stretch->thread->number, stretch->depth);
    if (i < 0)
        return (int)i;
    slices->time_ns[i] = call->begin_ns;
    slices->event[i] = (uint32_t)slicer->run.i;
    slices->ran_ns[i] = slices->self_ns[i] = 0;
    slices->what[i] = (uint8_t)what;
    return 0;
}

struct stretch_end {
    uint64_t time_ns;
    uint32_t event;
    enum fg_slice_what what;
    uint8_t flags;
};

static int put_values(struct fg_slices *slices, const struct call *call)
{
    if (slices->data_bytes + call->values_bytes > INT32_MAX)
        return -ENOMEM;
    if (fg_array_reserve(&slices->data, &slices->data_capacity, slices->data_bytes + call->values_bytes) < 0)
        return -ENOMEM;
    memcpy(slices->data + slices->data_bytes, call->values, call->values_bytes);
    slices->data_bytes += call->values_bytes;
    slices->data_offsets[slices->n] = (int32_t)slices->data_bytes;
    return 0;
}

/* Adds the end of a stretch of the call, whose sums are those after it. */
static int put_end(struct fg_slicer *slicer, const struct call *call, uint32_t thread, uint32_t depth,
                   struct stretch_end end)
{
    struct fg_slices *slices = slicer->run.slices;
    int64_t i;

    if (!is_requested(slicer, end.what))
        return 0;
    i = put(slices, call, thread, depth);
    if (i < 0)
        return (int)i;
    slices->time_ns[i] = end.time_ns;
    slices->ran_ns[i] = call->ran_ns;
    slices->self_ns[i] = call->self_ns;
    slices->event[i] = end.event;
    slices->what[i] = (uint8_t)end.what;
    slices->flags[i] |= end.flags;
    return call->values ? put_values(slices, call) : 0;
}

/* ---- what becomes of calls */

static const struct fg_call_consumer consumer;

/* Takes over the arguments that the event's entry has. */
static int take_values(const struct fg_columns *columns, size_t i, struct call *call)
{
    size_t bytes = (size_t)(columns->data_offsets[i + 1] - columns->data_offsets[i]);

    if (bytes == 0)
        return 0;
    call->values = malloc(bytes);
    if (call->values == NULL)
        return -ENOMEM;
    memcpy(call->values, columns->data + columns->data_offsets[i], bytes);
    call->values_bytes = bytes;
    return 0;
}

static void free_values(struct call *call)
{
    free(call->values);
    call->values = NULL;
    call->values_bytes = 0;
}

/* Numbers a call that is met for the first time; it is below what is in progress in its thread. */
static void number_call(struct fg_slicer *slicer, const struct fg_stretch *stretch, struct call *call)
{
    struct fg_call_level *level = fg_innermost_level(&consumer, stretch->thread);
    const struct call *above = level ? fg_call_of(&slicer->calls, level) : NULL;

    call->id = slicer->next_id++;
    call->above = above ? above->id : 0;
    call->root = above ? above->root : call->id;
}

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *source)
{
    struct fg_slicer *slicer = slicer_of(calls);
    const struct run *run = source;
    const struct fg_columns *columns = run->columns;
    const struct fg_call_level *level = stretch->level;
    const struct fg_call_level *parent = fg_parent_level(&consumer, stretch);
    struct call *call = stretch->call;

    *call = (struct call){
        .func = level->func,
        .parent = parent ? parent->func : FG_FUNC_UNKNOWN,
        .caller = columns->caller[run->i],
        .caller_line = columns->caller_line[run->i],
        .task = columns->task[run->i],
        .resumes = level->is_resumed,
        .is_irq = columns->irq[run->i],
        .is_whole = fg_begins_whole(level, graph),
        .call_ns = fg_begins_ns(level, graph, columns->time_ns[run->i]),
        .begin_ns = level->entered_ns,
    };
    number_call(slicer, stretch, call);
    if (level->is_late)
        return 0;
    if (!level->is_resumed && take_values(columns, run->i, call) < 0)
        return -ENOMEM;
    return put_begin(slicer, stretch, level->is_resumed ? FG_SLICE_resume : FG_SLICE_begin);
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *source)
{
    const struct run *run = source;
    struct call *call = stretch->call;

    call->task = run->columns->task[run->i];
    call->begin_ns = stretch->level->entered_ns;
    call->resumes += fg_is_resume(stretch->level, graph);
    return stretch->level->is_late ? 0 : put_begin(slicer_of(calls), stretch, FG_SLICE_resume);
}

static inline void add_stretch(const struct fg_stretch *stretch)
{
    struct call *call = stretch->call;

    call->ran_ns += stretch->ran_ns;
    call->self_ns += stretch->self_ns;
}

/* The stretch ended at its event. */
FG_ASSEMBLE int end_stretch(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                            const struct fg_graph_data *graph, const struct run *run)
{
    struct call *call = stretch->call;
    uint8_t flags = stretch->level->is_late ? FG_SLICE_ONLY_END : 0;

    add_stretch(stretch);
    if (graph->has_start)
        call->call_ns = graph->start_ns; /* its name, also on a clock that does not count nanoseconds */
    if (call->is_whole)
        flags |= FG_SLICE_WHOLE;
    return put_end(slicer_of(calls), call, stretch->thread->number, stretch->depth,
                   (struct stretch_end){.time_ns = run->columns->time_ns[run->i],
                                        .event = (uint32_t)run->i,
                                        .what = run->columns->kind[run->i],
                                        .flags = flags});
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *source)
{
    return end_stretch(calls, stretch, graph, source);
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *graph, const void *source)
{
    int error = end_stretch(calls, stretch, graph, source);

    free_values(stretch->call);
    return error;
}

/* It ends at its thread's last event. */
static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct call *call = stretch->call;
    uint64_t last_ns = stretch->thread->last_ns;
    struct stretch_end end = {
        .time_ns = last_ns > call->begin_ns ? last_ns : call->begin_ns,
        .event = FG_SLICE_NO_EVENT,
        .what = goes_on              ? FG_SLICE_suspend
                : gap == FG_GAP_LOST ? FG_SLICE_lost
                                     : FG_SLICE_open,
        .flags = gap == FG_GAP_LOST ? FG_SLICE_LOST_END : 0,
    };
    int error;

    (void)until_ns;
    add_stretch(stretch);
    call->is_whole = false;
    error = put_end(slicer_of(calls), call, stretch->thread->number, stretch->depth, end);
    if (!goes_on)
        free_values(call);
    return error;
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    int error =
        put_end(slicer_of(calls), call, named->thread, named->depth,
                (struct stretch_end){
                    .time_ns = named->last_ns, .event = FG_SLICE_NO_EVENT, .what = FG_SLICE_suspended});

    free_values(call);
    return error;
}

static int32_t pid_of(const struct fg_name_table *names, const void *source)
{
    const struct run *run = source;

    (void)names;
    return run->tasks.pids[run->columns->task[run->i]];
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct fg_call_thread),
    .names_calls = true,
    .links_levels = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = pid_of,
};

/* ---- events */

static inline struct fg_graph_data graph_of(const struct fg_columns *columns, size_t i)
{
    bool is_begin = columns->kind[i] <= FG_COLUMN_resume;

    return (struct fg_graph_data){
        .func = columns->function[i],
        .depth = columns->depth[i],
        .kind = (uint8_t)(columns->kind[i] - (is_begin ? FG_COLUMN_entry : FG_COLUMN_return)),
        /* A resume always has one: it is the name of its call. */
        .has_start = columns->start_ns[i] != 0 || columns->kind[i] == FG_COLUMN_resume,
        .start_ns = columns->start_ns[i],
        .calltime_ns = columns->calltime_ns[i],
        .rettime_ns = columns->rettime_ns[i],
    };
}

static int add_event(struct fg_slicer *slicer)
{
    const struct run *run = &slicer->run;
    const struct fg_columns *columns = run->columns;
    uint32_t task = columns->task[run->i];
    uint8_t kind = columns->kind[run->i];
    struct fg_call_thread *thread;
    int error = 0;

    if (task >= run->tasks.n || run->tasks.threads[task] >= MAX_THREADS ||
        columns->depth[run->i] > FG_RECORD_MAX_DEPTH)
        return -EINVAL;
    thread = fg_call_thread(&consumer, &slicer->calls, run->tasks.threads[task]);
    if (thread == NULL)
        return -ENOMEM;
    if (kind <= FG_COLUMN_close) {
        struct fg_graph_data graph = graph_of(columns, run->i);

        error = kind <= FG_COLUMN_resume ? fg_calls_begin(&consumer, &slicer->calls, thread, &graph,
                                                          graph.func, columns->time_ns[run->i], run)
                                         : fg_calls_end(&consumer, &slicer->calls, thread, &graph, graph.func,
                                                        columns->time_ns[run->i], run);
    } else if (kind == FG_COLUMN_wait) {
        thread->wait_ns += columns->number[run->i];
    }
    thread->last_ns = columns->time_ns[run->i];
    return error;
}

int fg_slicer_add(struct fg_slicer *slicer, const struct fg_columns *columns, struct fg_slice_tasks tasks,
                  struct fg_slices *slices)
{
    struct run *run = &slicer->run;
    int error = slices->capacity ? 0 : grow(slices);

    *run = (struct run){.columns = columns, .tasks = tasks, .slices = slices};
    for (; run->i < columns->n && error == 0; run->i++)
        error = add_event(slicer);
    return error;
}

int fg_slicer_finish(struct fg_slicer *slicer, struct fg_slices *slices)
{
    int error = slices->capacity ? 0 : grow(slices);

    slicer->run = (struct run){.slices = slices};
    return error ? error : fg_calls_finish(&slicer->calls);
}

/* ---- making and freeing */

struct fg_slicer *fg_slicer_new(struct fg_slicer_options options)
{
    struct fg_slicer *slicer = calloc(1, sizeof(*slicer));

    if (slicer) {
        fg_call_assembler_init(&slicer->calls, &consumer, NULL, options.has_times);
        slicer->options = options;
        slicer->next_id = options.first_id;
    }
    return slicer;
}

static void free_call(struct fg_call_assembler *calls, void *call)
{
    (void)calls;
    free_values(call);
}

void fg_slicer_free(struct fg_slicer *slicer)
{
    if (slicer == NULL)
        return;
    fg_calls_each(&slicer->calls, free_call);
    fg_call_assembler_free(&slicer->calls);
    free(slicer);
}
