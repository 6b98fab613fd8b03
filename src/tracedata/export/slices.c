/* See slices.h. */
#include "tracedata/export/slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/array.h"
#include "engine/core/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/export/open_calls.h"

#define MAX_THREADS (1u << 24)

struct fg_slicer {
    struct fg_open_calls open;
    struct fg_slicer_options options;
    uint64_t next_id;
};

/* One batch on its way from events to slices. */
struct run {
    struct fg_slicer *slicer;
    const struct fg_columns *columns;
    struct fg_slice_tasks tasks;
    struct fg_slices *slices;
};

struct fg_slicer *fg_slicer_new(struct fg_slicer_options options)
{
    struct fg_slicer *slicer = calloc(1, sizeof(*slicer));

    if (slicer) {
        slicer->options = options;
        slicer->next_id = options.first_id;
    }
    return slicer;
}

void fg_slicer_free(struct fg_slicer *slicer)
{
    if (slicer)
        fg_open_calls_free(&slicer->open);
    free(slicer);
}

static inline uint64_t minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
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
static inline int64_t put(struct fg_slices *slices, const struct fg_traced_call *call, uint32_t thread,
                          uint32_t depth)
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

static inline bool is_requested(const struct run *run, enum fg_slice_what what)
{
    return run->slicer->options.whats >> what & 1;
}

static int put_begin(struct run *run, const struct fg_traced_call *call, uint32_t thread, uint32_t depth,
                     uint32_t event, enum fg_slice_what what)
{
    struct fg_slices *slices = run->slices;
    int64_t i;

    if (!is_requested(run, what))
        return 0;
    i = put(slices, call, thread, depth);
    if (i < 0)
        return (int)i;
    slices->time_ns[i] = call->begin_ns;
    slices->event[i] = event;
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

static int put_values(struct fg_slices *slices, const struct fg_traced_call *call)
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
static int put_end(struct run *run, const struct fg_traced_call *call, uint32_t thread, uint32_t depth,
                   struct stretch_end end)
{
    struct fg_slices *slices = run->slices;
    int64_t i;

    if (!is_requested(run, end.what))
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

/* ---- from events to slices */

/* Counts a stretch, for the call and for its caller. */
static inline void add_stretch(struct fg_call_thread *thread, struct fg_traced_call *call, uint32_t depth,
                               uint64_t ran_ns, uint64_t callees_ns)
{
    call->ran_ns += ran_ns;
    call->self_ns += minus(ran_ns, callees_ns);
    if (depth)
        thread->calls[depth - 1].callees_ns += ran_ns;
}

/* When a stretch ended whose end is not in the trace: at its thread's last event. */
static uint64_t last_ns_of(const struct fg_call_thread *thread, const struct fg_traced_call *call)
{
    return thread->last_ns > call->begin_ns ? thread->last_ns : call->begin_ns;
}

/* Ends the calls in progress at @depth and deeper: their ends were lost, or the thread has no more events. */
static int give_up_calls(struct run *run, struct fg_call_thread *thread, uint32_t number, uint32_t depth,
                         enum fg_slice_what what)
{
    while (thread->depth > depth) {
        uint32_t at = --thread->depth;
        struct fg_traced_call *call = &thread->calls[at];
        uint64_t end_ns = last_ns_of(thread, call);
        int error = 0;

        if (call->is_open) {
            /* How long it ran is not known on a clock that does not count nanoseconds. A call whose end was
             * lost counts no time at all, as in summaries. */
            if (what == FG_SLICE_open)
                add_stretch(thread, call, at,
                            run->slicer->options.has_times
                                ? minus(end_ns - call->begin_ns, thread->wait_ns - call->waited_ns)
                                : 0,
                            call->callees_ns);
            error =
                put_end(run, call, number, at,
                        (struct stretch_end){.time_ns = end_ns, .event = FG_SLICE_NO_EVENT, .what = what});
            thread->innermost = call->enclosing;
            fg_open_calls_forget(&run->slicer->open, call);
        }
        fg_traced_call_clear(call);
        call->callees_ns = 0;
        if (error)
            return error;
    }
    return 0;
}

/* A call that goes on a second time, in a damaged trace or one that lacks its suspend: where it went on
 * before, it is suspended. */
static int leave_place(struct run *run, struct fg_call_place place)
{
    struct fg_call_thread *thread = &run->slicer->open.threads[place.thread];
    struct fg_traced_call *call = &thread->calls[place.depth];
    uint64_t end_ns = last_ns_of(thread, call);
    int error = give_up_calls(run, thread, place.thread, place.depth + 1, FG_SLICE_lost);

    if (error == 0)
        error = put_end(
            run, call, place.thread, place.depth,
            (struct stretch_end){.time_ns = end_ns, .event = FG_SLICE_NO_EVENT, .what = FG_SLICE_suspend});
    thread->innermost = call->enclosing;
    thread->depth = place.depth;
    return error;
}

/* Takes the call of this name, which goes on at @place. Return: 1; 0: there is none; -ENOMEM. */
static int take_call(struct run *run, uint64_t start_ns, uint32_t func, int32_t pid,
                     struct fg_call_place place, struct fg_traced_call *call)
{
    struct fg_open_calls *open = &run->slicer->open;
    struct fg_traced_call *other;
    struct fg_call_place from;
    int error;

    if (fg_open_calls_take(open, start_ns, func, pid, place, call))
        return 1;
    other = fg_open_calls_move(open, start_ns, func, pid, place, &from);
    if (other == NULL)
        return 0;
    error = leave_place(run, from);
    if (error)
        return error;
    *call = *other;
    *other = (struct fg_traced_call){0};
    return 1;
}

static int keep_values(const struct fg_columns *columns, size_t i, struct fg_traced_call *call)
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

static struct fg_traced_call call_of(const struct fg_columns *columns, size_t i)
{
    return (struct fg_traced_call){
        .func = columns->function[i],
        .parent = FG_FUNC_UNKNOWN,
        .caller = columns->caller[i],
        .caller_line = columns->caller_line[i],
        .task = columns->task[i],
        .is_irq = columns->irq[i],
        .is_whole = true,
        .call_ns = columns->time_ns[i],
        .begin_ns = columns->time_ns[i],
    };
}

static uint32_t parent_at(const struct fg_call_thread *thread, uint32_t depth)
{
    bool is_known = depth && thread->depth >= depth && thread->calls[depth - 1].is_open;

    return is_known ? thread->calls[depth - 1].func : FG_FUNC_UNKNOWN;
}

/* Numbers a call that is met for the first time; it is below what is in progress in its thread. */
static void number_call(struct run *run, const struct fg_call_thread *thread, struct fg_traced_call *call)
{
    const struct fg_traced_call *above = thread->innermost ? &thread->calls[thread->innermost - 1] : NULL;

    call->id = run->slicer->next_id++;
    call->above = above ? above->id : 0;
    call->root = above ? above->root : call->id;
}

static int begin_stretch(struct run *run, struct fg_call_thread *thread, size_t i)
{
    const struct fg_columns *columns = run->columns;
    uint32_t depth = columns->depth[i], task = columns->task[i], number = run->tasks.threads[task];
    bool is_resume = columns->kind[i] == FG_COLUMN_resume;
    struct fg_traced_call call = call_of(columns, i);
    int error = give_up_calls(run, thread, number, depth, FG_SLICE_lost), found = 0;

    if (error == 0 && is_resume)
        found = take_call(run, columns->start_ns[i], call.func, run->tasks.pids[task],
                          (struct fg_call_place){number, depth}, &call);
    if (error || found < 0)
        return error ? error : found;
    if (!is_resume) {
        call.parent = parent_at(thread, depth);
        number_call(run, thread, &call);
        error = keep_values(columns, i, &call);
    } else if (found) {
        call.begin_ns = columns->time_ns[i];
        call.task = task;
    } else { /* its beginning is not in the trace */
        call.call_ns = columns->start_ns[i];
        call.parent = parent_at(thread, depth);
        number_call(run, thread, &call);
        call.is_whole = false;
    }
    call.is_open = true;
    call.enclosing = thread->innermost;
    call.resumes += is_resume;
    call.callees_ns = 0;
    call.waited_ns = thread->wait_ns;
    thread->calls[depth].callees_ns = 0;
    thread->calls[depth] = call;
    thread->depth = thread->innermost = depth + 1;
    if (error)
        return error;
    return put_begin(run, &call, number, depth, (uint32_t)i, is_resume ? FG_SLICE_resume : FG_SLICE_begin);
}

/* A stretch whose begin is not in the trace: takes the call from the suspended ones, or makes it of its
 * end. */
static int take_unseen_call(struct run *run, struct fg_call_thread *thread, size_t i,
                            struct fg_traced_call *call)
{
    const struct fg_columns *columns = run->columns;
    uint32_t task = columns->task[i], depth = columns->depth[i];
    uint64_t start_ns = columns->start_ns[i], calltime_ns = columns->calltime_ns[i];
    bool is_close = columns->kind[i] == FG_COLUMN_close;
    int found = 0;

    *call = call_of(columns, i);
    if (start_ns)
        found = take_call(run, start_ns, call->func, run->tasks.pids[task],
                          (struct fg_call_place){run->tasks.threads[task], depth}, call);
    if (found < 0)
        return found;
    if (found) {
        call->resumes += !is_close; /* one that is suspended may be closed without a resume */
    } else {
        call->parent = parent_at(thread, depth);
        number_call(run, thread, call);
        call->call_ns = start_ns ? start_ns : calltime_ns;
        call->is_whole = !is_close && call->call_ns == calltime_ns;
    }
    call->task = task;
    call->begin_ns = run->slicer->options.has_times && calltime_ns < columns->time_ns[i]
                         ? calltime_ns
                         : columns->time_ns[i];
    return 0;
}

static int end_stretch(struct run *run, struct fg_call_thread *thread, size_t i)
{
    const struct fg_columns *columns = run->columns;
    uint32_t depth = columns->depth[i], task = columns->task[i], number = run->tasks.threads[task];
    struct fg_traced_call *open = &thread->calls[depth], call;
    uint64_t ran_ns = minus(columns->rettime_ns[i], columns->calltime_ns[i]), callees_ns;
    struct stretch_end end = {.time_ns = columns->time_ns[i], .event = (uint32_t)i, .what = columns->kind[i]};
    int error = give_up_calls(run, thread, number, depth + 1, FG_SLICE_lost);

    if (error)
        return error;
    callees_ns = open->callees_ns;
    if (thread->depth == depth + 1 && open->is_open && open->func == columns->function[i]) {
        call = *open;
        thread->innermost = call.enclosing;
        *open = (struct fg_traced_call){0};
    } else {
        /* A call in progress at this depth is another one, whose exit was lost. */
        if (open->is_open)
            callees_ns = 0;
        error = give_up_calls(run, thread, number, depth, FG_SLICE_lost);
        if (error)
            return error;
        open->callees_ns = 0;
        error = take_unseen_call(run, thread, i, &call);
        if (error)
            return error;
        end.flags = FG_SLICE_ONLY_END;
    }
    thread->depth = depth;
    add_stretch(thread, &call, depth, ran_ns, callees_ns);
    call.is_open = false;
    if (columns->start_ns[i] && columns->start_ns[i] != call.call_ns) {
        fg_open_calls_forget(&run->slicer->open, &call);
        call.call_ns = columns->start_ns[i]; /* its name, also on a clock that does not count nanoseconds */
    }
    if (call.is_whole)
        end.flags |= FG_SLICE_WHOLE;
    error = put_end(run, &call, number, depth, end);
    if (error == 0 && end.what == FG_SLICE_suspend && columns->start_ns[i]) {
        call.thread = number;
        call.depth = depth;
        call.suspended_ns = end.time_ns;
        error = fg_open_calls_park(&run->slicer->open, &call, run->tasks.pids[task]);
        if (error == 0)
            return 0;
    }
    fg_open_calls_forget(&run->slicer->open, &call);
    fg_traced_call_clear(&call);
    return error;
}

static int add_event(struct run *run, size_t i)
{
    const struct fg_columns *columns = run->columns;
    uint32_t task = columns->task[i], depth = columns->depth[i];
    uint8_t kind = columns->kind[i];
    struct fg_call_thread *thread;
    int error = 0;

    if (task >= run->tasks.n || run->tasks.threads[task] >= MAX_THREADS || depth > FG_RECORD_MAX_DEPTH)
        return -EINVAL;
    thread = fg_open_calls_thread(&run->slicer->open, run->tasks.threads[task], depth);
    if (thread == NULL)
        return -ENOMEM;
    if (kind == FG_COLUMN_entry || kind == FG_COLUMN_resume)
        error = begin_stretch(run, thread, i);
    else if (kind <= FG_COLUMN_close)
        error = end_stretch(run, thread, i);
    else if (kind == FG_COLUMN_wait)
        thread->wait_ns += columns->number[i];
    thread->last_ns = columns->time_ns[i];
    return error;
}

int fg_slicer_add(struct fg_slicer *slicer, const struct fg_columns *columns, struct fg_slice_tasks tasks,
                  struct fg_slices *slices)
{
    struct run run = {.slicer = slicer, .columns = columns, .tasks = tasks, .slices = slices};
    int error = slices->capacity ? 0 : grow(slices);

    for (size_t i = 0; i < columns->n && error == 0; i++)
        error = add_event(&run, i);
    return error;
}

int fg_slicer_finish(struct fg_slicer *slicer, struct fg_slices *slices)
{
    struct run run = {.slicer = slicer, .slices = slices};
    int error = slices->capacity ? 0 : grow(slices);

    for (size_t i = 0; i < slicer->open.nr_threads && error == 0; i++)
        error = give_up_calls(&run, &slicer->open.threads[i], (uint32_t)i, 0, FG_SLICE_open);
    for (size_t i = 0; i < slicer->open.parked.nr_calls && error == 0; i++) {
        const struct fg_traced_call *call = slicer->open.parked.calls[i].more;

        if (call == NULL) /* it was in progress */
            continue;
        error = put_end(&run, call, call->thread, call->depth,
                        (struct stretch_end){.time_ns = call->suspended_ns,
                                             .event = FG_SLICE_NO_EVENT,
                                             .what = FG_SLICE_suspended});
    }
    return error;
}
