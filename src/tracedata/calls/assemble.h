/* One event into the calls: the way that most events take, inlined into each consumer. assembler.h has the
 * rules. @calls, here and there, is the beginning of the consumer's own state, and @consumer a constant, so
 * that its functions are called directly. */
#ifndef FG_ASSEMBLE_H
#define FG_ASSEMBLE_H

#include "engine/base/compiler.h"
#include "tracedata/calls/assembler.h"

/* The thread of number @number. NULL: memory is short. */
FG_ASSEMBLE struct fg_call_thread *fg_call_thread(const struct fg_call_consumer *consumer,
                                                  struct fg_call_assembler *calls, uint32_t number)
{
    if (fg_unlikely(number >= calls->nr_threads) && fg_calls_reserve_thread(calls, number) < 0)
        return NULL;
    return fg_call_thread_at(consumer, calls, number);
}

/* To be called for each event of a thread, before what it is is looked at. */
FG_ASSEMBLE int fg_calls_enter(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                               const struct fg_event *event)
{
    if (fg_likely(thread->lane_task == fg_lane_task(event)))
        return 0;
    return fg_calls_change_task(calls, thread, event);
}

/* A call begins or is resumed. @entry: whole, aligned. @func: what the consumer calls its function. Damage
 * is the caller's to find: the depth is at most FG_RECORD_MAX_DEPTH. The caller sets thread->last_ns after
 * each event. */
FG_ASSEMBLE int fg_calls_begin(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                               struct fg_call_thread *thread, const struct fg_graph_data *entry,
                               uint32_t func, uint64_t time_ns, const void *source)
{
    struct fg_stretch stretch = {.thread = thread, .depth = entry->depth};
    struct fg_call_level *level;
    int error = 0;

    if (fg_unlikely(entry->depth >= thread->capacity))
        error = fg_calls_reserve_level(calls, thread, entry->depth);
    if (!error && fg_unlikely(thread->depth > entry->depth))
        error = fg_calls_give_up(calls, thread, entry->depth, FG_GAP_LOST, time_ns);
    if (fg_unlikely(error))
        return error;
    level = fg_level_at(consumer, thread, entry->depth);
    level->func = func;
    level->named = 0;
    level->is_open = true;
    level->is_resumed = entry->kind == FG_ENTRY_RESUME;
    level->is_late = false;
    level->entered_ns = time_ns;
    level->waited_ns = thread->wait_ns;
    level->callees_ns = 0;
    stretch.level = level;
    stretch.call = level + 1;
    if (consumer->names_calls && fg_unlikely(level->is_resumed)) {
        error = fg_calls_resume(calls, stretch, entry, time_ns, source);
    } else {
        error = consumer->begin(calls, &stretch, entry, source);
    }
    thread->depth = entry->depth + 1;
    if (consumer->links_levels) {
        level->enclosing = thread->innermost;
        thread->innermost = thread->depth;
    }
    return error;
}

/* A call ends or is suspended: as fg_calls_begin(). */
FG_ASSEMBLE int fg_calls_end(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                             struct fg_call_thread *thread, const struct fg_graph_data *exit, uint32_t func,
                             uint64_t time_ns, const void *source)
{
    struct fg_stretch stretch = {
        .thread = thread, .depth = exit->depth, .ran_ns = fg_graph_duration_ns(exit)};
    struct fg_call_level *level;
    int error = 0;

    if (fg_unlikely(exit->depth >= thread->capacity))
        error = fg_calls_reserve_level(calls, thread, exit->depth);
    if (!error && fg_unlikely(thread->depth > exit->depth + 1))
        error = fg_calls_give_up(calls, thread, exit->depth + 1, FG_GAP_LOST, time_ns);
    if (fg_unlikely(error))
        return error;
    level = fg_level_at(consumer, thread, exit->depth);
    if (fg_unlikely(thread->depth != exit->depth + 1 || !level->is_open || level->func != func)) {
        error = fg_calls_begin_late(calls, thread, exit, func, time_ns, source);
        if (error)
            return error;
    }
    level->is_open = false;
    thread->depth = exit->depth;
    if (consumer->links_levels)
        thread->innermost = level->enclosing;
    stretch.level = level;
    stretch.call = level + 1;
    stretch.self_ns = fg_minus(stretch.ran_ns, level->callees_ns);
    level->callees_ns = 0;
    if (exit->depth)
        fg_level_at(consumer, thread, exit->depth - 1)->callees_ns += stretch.ran_ns;
    if (consumer->names_calls && fg_unlikely(level->named || exit->kind == FG_EXIT_SUSPEND))
        return fg_calls_end_named(calls, stretch, exit, time_ns, source);
    return consumer->end(calls, &stretch, exit, source);
}

#endif
