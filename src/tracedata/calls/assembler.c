/* See assembler.h: what few events need. */
#include "tracedata/calls/assembler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

void fg_call_assembler_init(struct fg_call_assembler *calls, const struct fg_call_consumer *consumer,
                            const struct fg_name_table *names, bool has_times)
{
    *calls = (struct fg_call_assembler){.consumer = consumer, .names = names, .has_times = has_times};
    calls->named.stride = sizeof(struct fg_named_call) + consumer->call_bytes;
}

void fg_call_assembler_free(struct fg_call_assembler *calls)
{
    for (size_t i = 0; i < calls->nr_threads; i++)
        free(fg_call_thread_at(calls->consumer, calls, (uint32_t)i)->levels);
    free(calls->threads);
    fg_named_calls_free(&calls->named);
    calls->threads = NULL;
    calls->nr_threads = calls->capacity = 0;
}

static void each_of_thread(struct fg_call_assembler *calls, const struct fg_call_thread *thread,
                           void (*visit)(struct fg_call_assembler *calls, void *call))
{
    for (size_t depth = 0; depth < thread->capacity; depth++)
        visit(calls, fg_level_at(calls->consumer, thread, (uint32_t)depth) + 1);
}

void fg_calls_each(struct fg_call_assembler *calls,
                   void (*visit)(struct fg_call_assembler *calls, void *call))
{
    for (size_t i = 0; i < calls->nr_threads; i++)
        each_of_thread(calls, fg_call_thread_at(calls->consumer, calls, (uint32_t)i), visit);
    for (size_t i = 0; i < calls->named.n; i++)
        if (fg_named_call_at(&calls->named, i)->is_used)
            visit(calls, fg_named_call_at(&calls->named, i) + 1);
}

int fg_calls_reserve_level(const struct fg_call_assembler *calls, struct fg_call_thread *thread,
                           uint32_t depth)
{
    size_t stride = sizeof(struct fg_call_level) + calls->consumer->call_bytes;

    return fg_array_grow_zeroed(&thread->levels, &thread->capacity, depth + (size_t)1, stride);
}

int fg_calls_reserve_thread(struct fg_call_assembler *calls, uint32_t number)
{
    if (number >= calls->capacity &&
        fg_array_grow_zeroed(&calls->threads, &calls->capacity, number + (size_t)1,
                             calls->consumer->thread_bytes) < 0)
        return -ENOMEM;
    for (; calls->nr_threads <= number; calls->nr_threads++) {
        struct fg_call_thread *thread =
            fg_call_thread_at(calls->consumer, calls, (uint32_t)calls->nr_threads);

        thread->number = (uint32_t)calls->nr_threads;
        thread->lane_task = FG_NO_LANE_TASK;
    }
    return 0;
}

/* ---- ends that are not in the trace */

static int give_up_stretch(struct fg_call_assembler *calls, struct fg_call_thread *thread, uint32_t depth,
                           enum fg_call_gap gap, uint64_t until_ns)
{
    struct fg_call_level *level = fg_level_at(calls->consumer, thread, depth);
    struct fg_named_call *named = level->named ? fg_named_call_at(&calls->named, level->named - 1) : NULL;
    struct fg_stretch stretch = {
        .thread = thread, .level = level, .call = fg_call_of(calls, level), .depth = depth};
    bool goes_on = named && gap != FG_GAP_TRACE;
    int error;

    level->is_open = false;
    thread->innermost = level->enclosing;
    if (gap != FG_GAP_LOST && calls->has_times)
        stretch.ran_ns =
            fg_minus(fg_minus(thread->last_ns, level->entered_ns), thread->wait_ns - level->waited_ns);
    stretch.self_ns = fg_minus(stretch.ran_ns, level->callees_ns);
    if (depth)
        fg_level_at(calls->consumer, thread, depth - 1)->callees_ns += stretch.ran_ns;
    error = calls->consumer->give_up(calls, &stretch, gap, until_ns, goes_on);
    if (!named)
        return error;
    named->is_open = false;
    named->last_ns = thread->last_ns;
    if (!goes_on)
        fg_named_calls_remove(&calls->named, level->named - 1);
    return error;
}

int fg_calls_give_up(struct fg_call_assembler *calls, struct fg_call_thread *thread, uint32_t depth,
                     enum fg_call_gap gap, uint64_t until_ns)
{
    int error = 0;

    while (!error && thread->depth > depth) {
        struct fg_call_level *level = fg_level_at(calls->consumer, thread, --thread->depth);

        if (level->is_open)
            error = give_up_stretch(calls, thread, thread->depth, gap, until_ns);
        level->callees_ns = 0;
    }
    return error;
}

int fg_calls_finish_thread(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                           enum fg_call_gap gap)
{
    int error = fg_calls_give_up(calls, thread, 0, gap, thread->last_ns);

    return error || !calls->consumer->finish ? error : calls->consumer->finish(calls, thread);
}

int fg_calls_change_task(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                         const struct fg_event *event)
{
    int error = 0;

    if (thread->lane_task != FG_NO_LANE_TASK && thread->lane_task >> 32 == event->lane)
        error = fg_calls_finish_thread(calls, thread, FG_GAP_THREAD);
    thread->lane_task = fg_lane_task(event);
    return error;
}

/* ---- calls with a name */

/* The latest stretch of the call is over, wherever it is. */
static int leave_place(struct fg_call_assembler *calls, size_t place, uint64_t time_ns)
{
    const struct fg_named_call *named = fg_named_call_at(&calls->named, place);

    if (!named->is_open)
        return 0;
    return fg_calls_give_up(calls, fg_call_thread_at(calls->consumer, calls, named->thread), named->depth,
                            FG_GAP_LOST, time_ns);
}

static void set_place(struct fg_named_call *named, const struct fg_call_thread *thread, uint32_t depth,
                      bool is_open)
{
    named->thread = thread->number;
    named->depth = depth;
    named->is_open = is_open;
}

/* Has the call of this name go on at the stretch's level, if there is one. */
static int take_named(struct fg_call_assembler *calls, const struct fg_stretch *stretch, uint64_t start_ns,
                      uint64_t time_ns, int32_t pid)
{
    size_t found = fg_named_calls_find(&calls->named, start_ns, stretch->level->func, pid);
    int error;

    if (!found)
        return 0;
    error = leave_place(calls, found - 1, time_ns);
    if (error)
        return error;
    set_place(fg_named_call_at(&calls->named, found - 1), stretch->thread, stretch->depth, true);
    stretch->level->named = (uint32_t)found;
    return 0;
}

/* Whatever has this name is over: a later call has it. */
static int free_name(struct fg_call_assembler *calls, uint32_t func, uint64_t start_ns, uint64_t time_ns,
                     int32_t pid)
{
    size_t found = fg_named_calls_find(&calls->named, start_ns, func, pid);
    int error = found ? leave_place(calls, found - 1, time_ns) : 0;

    return found && !error ? fg_calls_finish_named(calls, found - 1) : error;
}

/* The consumer's struct moves from the level to the table. */
static int name_call(struct fg_call_assembler *calls, const struct fg_stretch *stretch, uint64_t start_ns,
                     int32_t pid)
{
    size_t bytes = calls->consumer->call_bytes;
    size_t added = fg_named_calls_add(&calls->named, start_ns, stretch->level->func, pid);

    if (!added || added > UINT32_MAX)
        return -ENOMEM;
    memcpy(fg_named_call_at(&calls->named, added - 1) + 1, stretch->call, bytes);
    memset(stretch->call, 0, bytes);
    stretch->level->named = (uint32_t)added;
    return 0;
}

/* Gives the call the name that its suspend says. */
static int set_name(struct fg_call_assembler *calls, const struct fg_stretch *stretch, uint64_t start_ns,
                    uint64_t time_ns, int32_t pid)
{
    const struct fg_call_level *level = stretch->level;
    int error;

    if (level->named && fg_named_call_at(&calls->named, level->named - 1)->start_ns == start_ns)
        return 0;
    error = free_name(calls, level->func, start_ns, time_ns, pid);
    if (error)
        return error;
    return level->named ? fg_named_calls_rename(&calls->named, level->named - 1, start_ns)
                        : name_call(calls, stretch, start_ns, pid);
}

int fg_calls_resume(struct fg_call_assembler *calls, struct fg_stretch stretch,
                    const struct fg_graph_data *entry, uint64_t time_ns, const void *source)
{
    const struct fg_call_consumer *consumer = calls->consumer;
    int error = 0;

    if (entry->has_start)
        error = take_named(calls, &stretch, entry->start_ns, time_ns, consumer->pid(calls->names, source));
    if (error)
        return error;
    stretch.call = fg_call_of(calls, stretch.level);
    return stretch.level->named ? consumer->resume(calls, &stretch, entry, source)
                                : consumer->begin(calls, &stretch, entry, source);
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *exit, uint64_t time_ns, const void *source)
{
    const struct fg_call_consumer *consumer = calls->consumer;
    int error = consumer->suspend(calls, stretch, exit, source);
    struct fg_named_call *named;

    if (!error)
        error = set_name(calls, stretch, exit->start_ns, time_ns, consumer->pid(calls->names, source));
    if (error)
        return error;
    named = fg_named_call_at(&calls->named, stretch->level->named - 1);
    set_place(named, stretch->thread, stretch->depth, false);
    named->last_ns = time_ns;
    return 0;
}

int fg_calls_end_named(struct fg_call_assembler *calls, struct fg_stretch stretch,
                       const struct fg_graph_data *exit, uint64_t time_ns, const void *source)
{
    int error;

    stretch.call = fg_call_of(calls, stretch.level);
    if (exit->kind == FG_EXIT_SUSPEND && exit->has_start)
        return suspend(calls, &stretch, exit, time_ns, source);
    error = calls->consumer->end(calls, &stretch, exit, source);
    if (stretch.level->named)
        fg_named_calls_remove(&calls->named, stretch.level->named - 1);
    return error;
}

/* ---- begins that are not in the trace */

int fg_calls_begin_late(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_graph_data *exit, uint32_t func, uint64_t time_ns, const void *source)
{
    const struct fg_call_consumer *consumer = calls->consumer;
    struct fg_call_level *level = fg_level_at(consumer, thread, exit->depth);
    struct fg_stretch stretch = {.thread = thread, .level = level, .depth = exit->depth};
    /* A call in progress at this depth is another one, whose end was lost: the callees are its. */
    uint64_t callees_ns = level->is_open ? 0 : level->callees_ns;
    int error = fg_calls_give_up(calls, thread, exit->depth, FG_GAP_LOST, time_ns);

    level->func = func;
    level->named = 0;
    if (!error && consumer->names_calls && exit->has_start)
        error = take_named(calls, &stretch, exit->start_ns, time_ns, consumer->pid(calls->names, source));
    if (error)
        return error;
    level->callees_ns = callees_ns;
    level->is_open = true;
    level->is_resumed = level->named != 0;
    level->is_late = true;
    level->entered_ns = calls->has_times && exit->calltime_ns < time_ns ? exit->calltime_ns : time_ns;
    level->waited_ns = thread->wait_ns;
    level->enclosing = thread->innermost;
    stretch.call = fg_call_of(calls, level);
    return level->named ? consumer->resume(calls, &stretch, exit, source)
                        : consumer->begin(calls, &stretch, exit, source);
}

/* ---- the end of the trace */

int fg_calls_finish_named(struct fg_call_assembler *calls, size_t place)
{
    struct fg_named_call *named = fg_named_call_at(&calls->named, place);
    int error;

    if (!named->is_used)
        return 0;
    error = calls->consumer->forget(calls, named, named + 1);
    fg_named_calls_remove(&calls->named, place);
    return error;
}

int fg_calls_finish(struct fg_call_assembler *calls)
{
    int error = 0;

    for (size_t i = 0; i < calls->nr_threads && !error; i++)
        error = fg_calls_finish_thread(calls, fg_call_thread_at(calls->consumer, calls, (uint32_t)i),
                                       FG_GAP_TRACE);
    for (size_t i = 0; i < calls->named.n && !error; i++)
        error = fg_calls_finish_named(calls, i);
    return error;
}
