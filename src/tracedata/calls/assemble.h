/* One event into the calls: the way that most events take, inlined into each consumer. assembler.h has the
 * rules. @calls, here and there, is the beginning of the consumer's own state, and @consumer a constant, so
 * that its functions are called directly. */
#ifndef FG_ASSEMBLE_H
#define FG_ASSEMBLE_H

#include "engine/core/compiler.h"
#include "tracedata/calls/assembler.h"

#define FG_ASSEMBLE static inline __attribute__((always_inline))

FG_ASSEMBLE uint64_t fg_minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* Whether an end tells all of a call whose begin is not in the trace: it had no earlier stretch. */
FG_ASSEMBLE bool fg_exit_is_whole(const struct fg_graph_event *exit)
{
    return exit->kind != FG_WIRE_CLOSE && (!exit->has_start || exit->start_ns == exit->calltime_ns);
}

/* ---- where things are */

FG_ASSEMBLE struct fg_call_level *fg_level_at(const struct fg_call_consumer *consumer,
                                              const struct fg_call_thread *thread, uint32_t depth)
{
    size_t stride = sizeof(struct fg_call_level) + consumer->call_bytes;

    return (struct fg_call_level *)(void *)(thread->levels + depth * stride);
}

FG_ASSEMBLE struct fg_call_thread *fg_call_thread_at(const struct fg_call_consumer *consumer,
                                                     const struct fg_call_assembler *calls, uint32_t number)
{
    return (struct fg_call_thread *)(void *)(calls->threads + number * (size_t)consumer->thread_bytes);
}

/* The consumer's struct of the call at a level. */
FG_ASSEMBLE void *fg_call_of(const struct fg_call_assembler *calls, struct fg_call_level *level)
{
    return fg_unlikely(level->named) ? fg_named_call_at(&calls->named, level->named - 1) + 1
                                     : (void *)(level + 1);
}

/* While a call begins: the level of the call that it was made from; NULL: that is not known. */
FG_ASSEMBLE struct fg_call_level *fg_parent_level(const struct fg_call_consumer *consumer,
                                                  const struct fg_stretch *stretch)
{
    struct fg_call_level *parent;

    if (!stretch->depth || stretch->thread->depth < stretch->depth)
        return NULL;
    parent = fg_level_at(consumer, stretch->thread, stretch->depth - 1);
    return parent->is_open ? parent : NULL;
}

/* The innermost call in progress, at whatever depth, or NULL. */
FG_ASSEMBLE struct fg_call_level *fg_innermost_level(const struct fg_call_consumer *consumer,
                                                     const struct fg_call_thread *thread)
{
    return thread->innermost ? fg_level_at(consumer, thread, thread->innermost - 1) : NULL;
}

/* The next one around a call in progress, or NULL. */
FG_ASSEMBLE struct fg_call_level *fg_enclosing_level(const struct fg_call_consumer *consumer,
                                                     const struct fg_call_thread *thread,
                                                     const struct fg_call_level *level)
{
    return level->enclosing ? fg_level_at(consumer, thread, level->enclosing - 1) : NULL;
}

/* ---- events */

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
    if (fg_likely(thread->has_task && thread->tid == event->tid && thread->lane == event->lane))
        return 0;
    return fg_calls_change_task(calls, thread, event);
}

/* A call begins or is resumed. Damage is the caller's to find: the depth is at most FG_RECORD_MAX_DEPTH. The
 * caller sets thread->last_ns after each event. */
FG_ASSEMBLE int fg_calls_begin(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                               struct fg_call_thread *thread, const struct fg_graph_event *entry,
                               uint64_t time_ns, const void *source)
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
    level->func = entry->func;
    level->named = 0;
    level->is_open = true;
    level->is_resumed = entry->kind == FG_WIRE_RESUME;
    level->is_late = false;
    level->entered_ns = time_ns;
    level->waited_ns = thread->wait_ns;
    level->callees_ns = 0;
    if (consumer->names_calls && level->is_resumed && entry->has_start) {
        error =
            fg_calls_take_named(calls, thread, entry->depth, entry, time_ns, consumer->pid(calls, source));
        if (error)
            return error;
    }
    stretch.level = level;
    stretch.call = fg_call_of(calls, level);
    error = consumer->names_calls && level->named ? consumer->resume(calls, &stretch, entry, source)
                                                  : consumer->begin(calls, &stretch, entry, source);
    level->enclosing = thread->innermost;
    thread->depth = thread->innermost = entry->depth + 1;
    return error;
}

/* A call ends or is suspended: as fg_calls_begin(). */
FG_ASSEMBLE int fg_calls_end(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                             struct fg_call_thread *thread, const struct fg_graph_event *exit,
                             uint64_t time_ns, const void *source)
{
    struct fg_stretch stretch = {.thread = thread, .depth = exit->depth, .ran_ns = fg_duration_ns(exit)};
    struct fg_call_level *level;
    int error = 0;

    if (fg_unlikely(exit->depth >= thread->capacity))
        error = fg_calls_reserve_level(calls, thread, exit->depth);
    if (!error && fg_unlikely(thread->depth > exit->depth + 1))
        error = fg_calls_give_up(calls, thread, exit->depth + 1, FG_GAP_LOST, time_ns);
    if (fg_unlikely(error))
        return error;
    level = fg_level_at(consumer, thread, exit->depth);
    if (fg_unlikely(thread->depth != exit->depth + 1 || !level->is_open || level->func != exit->func)) {
        error = fg_calls_begin_late(calls, thread, exit, time_ns, source);
        if (error)
            return error;
    }
    level->is_open = false;
    thread->depth = exit->depth;
    thread->innermost = level->enclosing;
    stretch.level = level;
    stretch.call = fg_call_of(calls, level);
    stretch.self_ns = fg_minus(stretch.ran_ns, level->callees_ns);
    level->callees_ns = 0;
    if (exit->depth)
        fg_level_at(consumer, thread, exit->depth - 1)->callees_ns += stretch.ran_ns;
    if (consumer->names_calls && exit->kind == FG_WIRE_SUSPEND && exit->has_start) {
        error = consumer->suspend(calls, &stretch, exit, source);
        return error ? error : fg_calls_park(calls, &stretch, exit, time_ns, consumer->pid(calls, source));
    }
    error = consumer->end(calls, &stretch, exit, source);
    if (consumer->names_calls && level->named)
        fg_named_calls_remove(&calls->named, level->named - 1);
    return error;
}

#endif
