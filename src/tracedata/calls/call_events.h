/* The events of a trace into calls: the one loop of all consumers, inlined into each, as assemble.h.
 *
 * Damage ends the reading with an error, whichever event it is in: one of no call too. Each command says the
 * same of a trace then, and a report that goes on beside damage would look whole. A consumer whose trace is
 * read once more has FG_DAMAGE_SKIPS: a damaged event changes no call, and the trace ends where it cannot be
 * read on. */
#ifndef FG_CALL_EVENTS_H
#define FG_CALL_EVENTS_H

#include <errno.h>

#include "engine/ring/record.h"
#include "tracedata/calls/assemble.h"
#include "tracedata/read/merge.h"

/* Whether the data of an event can be read. */
FG_ASSEMBLE bool fg_event_is_sound(const struct fg_event *event)
{
    return fg_event_is_whole(event) &&
           (!fg_event_is_call(event->type) || fg_event_graph(event)->depth <= FG_RECORD_MAX_DEPTH);
}

/* What most consumers call a function: all that the trace does not name have the first number after those
 * that it does. */
FG_ASSEMBLE uint32_t fg_known_function(const struct fg_call_assembler *calls, uint32_t func)
{
    return func < calls->names->nr_functions ? func : calls->names->nr_functions;
}

/* The number of the task that has the thread. */
FG_ASSEMBLE uint32_t fg_task_number(const struct fg_call_assembler *calls,
                                    const struct fg_call_thread *thread)
{
    return calls->names->tasks[thread->task].number;
}

/* A sound event of a call. */
FG_ASSEMBLE int fg_calls_add_call(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                                  struct fg_call_thread *thread, const struct fg_event *event)
{
    const struct fg_graph_data *graph = fg_event_graph(event);
    uint32_t func = consumer->function_of ? consumer->function_of(calls, graph->func) : graph->func;

    return event->type == FG_EVENT_funcgraph_entry
               ? fg_calls_begin(consumer, calls, thread, graph, func, event->time_ns, event)
               : fg_calls_end(consumer, calls, thread, graph, func, event->time_ns, event);
}

/* A sound event of no call. */
FG_ASSEMBLE int fg_calls_add_other(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                                   struct fg_call_thread *thread, const struct fg_event *event)
{
    if (event->type == FG_EVENT_recorder_wait)
        thread->wait_ns += fg_event_recorder_wait(event)->duration_ns;
    return consumer->other_event ? consumer->other_event(calls, thread, event) : 0;
}

/* Any sound event. */
FG_ASSEMBLE int fg_calls_add_sound(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                                   struct fg_call_thread *thread, const struct fg_event *event)
{
    int error = consumer->before_event ? consumer->before_event(calls, thread, event) : 0;

    if (error)
        return error;
    error = fg_likely(fg_event_is_call(event->type)) ? fg_calls_add_call(consumer, calls, thread, event)
                                                     : fg_calls_add_other(consumer, calls, thread, event);
    if (consumer->after_event)
        consumer->after_event(calls, thread, event);
    return error;
}

/* Any event. @merge: has the reason of an error then; NULL: the error is -EBADMSG. */
FG_ASSEMBLE int fg_calls_add(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                             struct fg_merge *merge, const struct fg_event *event)
{
    struct fg_call_thread *thread = fg_call_thread(consumer, calls, event->thread);
    int error = thread ? fg_calls_enter(calls, thread, event) : -ENOMEM;

    if (error)
        return error;
    thread->task = event->task;
    if (fg_likely(fg_event_is_sound(event)))
        error = fg_calls_add_sound(consumer, calls, thread, event);
    else if (consumer->damage == FG_DAMAGE_FAILS)
        error = merge ? fg_merge_damaged(merge, event) : -EBADMSG;
    thread->last_ns = event->time_ns;
    return error;
}

/* The next event of a merge. Return: 1; 0: there is none; or an error of fg_merge_next(). */
FG_ASSEMBLE int fg_calls_add_next(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                                  struct fg_merge *merge)
{
    struct fg_event event;
    int result = fg_merge_next(merge, &event);

    if (result > 0) {
        int error = fg_calls_add(consumer, calls, merge, &event);

        return error < 0 ? error : 1;
    }
    return result == -EINVAL && consumer->damage == FG_DAMAGE_SKIPS ? 0 : result;
}

/* Up to @events more events of a merge. Return: 1; 0: that was all, and all calls are over; or an error. */
FG_ASSEMBLE int fg_calls_run(const struct fg_call_consumer *consumer, struct fg_call_assembler *calls,
                             struct fg_merge *merge, uint64_t events)
{
    while (events--) {
        int result = fg_calls_add_next(consumer, calls, merge);

        if (result == 0)
            return fg_calls_finish(calls);
        if (result < 0)
            return result;
    }
    return 1;
}

#endif
