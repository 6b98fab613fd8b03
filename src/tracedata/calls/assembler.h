/* Calls, put together from events: the one place that knows which events are one call.
 *
 * A call begins, may be suspended and resumed, and ends. Each stretch, between a begin or resume and a
 * suspend or end, is at a depth of its thread's stack. Any of these events may be missing from a trace.
 *
 *     events of a thread       depth 0   1   2     what is reported
 *     entry f                        f             begin f
 *     entry g                        f   g         begin g
 *     (lost: return g)               f   g
 *     entry h, depth 1               f   h         give_up g (FG_GAP_LOST), begin h
 *     suspend h                      f             suspend h: it has a name from here on
 *     (lost: resume h)               f
 *     return h, depth 1              f             resume h, end h
 *     return k, depth 2              f   .         begin k (late), end k
 *     (the thread's end)                           give_up f (FG_GAP_THREAD)
 *
 * The rules, which each consumer of calls follows by being called back from here:
 *
 *  1. An event at a depth shows that all stretches at that depth and deeper are over. Those that have not
 *     ended by now are given up, the innermost first: their ends were lost.
 *  2. An end belongs to the stretch at its depth if that is innermost, and of the same function. Else the
 *     begin of its stretch is not in the trace: it is made up, late.
 *  3. A call has a name once it was suspended: when it began, its function, its process. By that name it goes
 *     on, in any thread.
 *  4. A call with a name goes on, also if its latest stretch has not ended: the suspend is not in the
 *     trace, and the stretch is given up. So it is one call, however often it is resumed.
 *  5. If another call has the name already, as the clock is too coarse to tell them apart, the later one
 *     has it, and the earlier one is over.
 *  6. How long a stretch took whose end was lost is not known: no time. One that is in progress when its
 *     thread or the trace ends has run until the thread's last event, without its waits for the recorder;
 *     no time, if the clock does not count nanoseconds.
 *  7. The time of a stretch counts as time of callees for the level above it, whether a call is known there
 *     or not: its call may be learned of at its end.
 *  8. A call is whole, and its length known, if all its stretches are in the trace.
 *  9. A lane's calls are over where another task begins in it.
 *
 * A consumer has a struct of its own for each call, behind struct fg_call_level while the call has no name,
 * and behind struct fg_named_call then. */
#ifndef FG_ASSEMBLER_H
#define FG_ASSEMBLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/calls/named_calls.h"
#include "tracedata/read/name_table.h"

/* A level of a thread's stack; the consumer's struct of a call follows. */
struct fg_call_level {
    uint64_t entered_ns; /* when the stretch began */
    uint64_t waited_ns;  /* the thread's wait_ns then */
    uint64_t callees_ns; /* how long stretches one level deeper took, also if no call is known here */
    uint32_t func;
    uint32_t named;     /* 1 + the place of its call in the table of named calls; 0: it has no name */
    uint32_t enclosing; /* what `innermost` of its thread was before */
    bool is_open;
    bool is_resumed; /* the stretch began with a resume */
    bool is_late;    /* the begin of the stretch is not in the trace */
};

/* A thread; the consumer's own struct of a thread may begin with it. */
struct fg_call_thread {
    unsigned char *levels; /* by depth; those at `depth` and deeper are closed */
    size_t capacity;
    uint32_t depth;
    uint32_t innermost; /* 1 + the depth of the innermost open level; 0: none is open */
    uint32_t number;
    uint32_t task;      /* of its latest event: place in the names; of call_events.h */
    uint64_t lane_task; /* fg_lane_task() of its latest event */
    uint64_t last_ns;   /* its latest event */
    uint64_t wait_ns;   /* how long it has waited for the recorder so far */
};

#define FG_NO_LANE_TASK UINT64_MAX

/* Why the end of a stretch is not known. */
enum fg_call_gap {
    FG_GAP_LOST,   /* a later event shows that it is over */
    FG_GAP_THREAD, /* its thread has no more events */
    FG_GAP_TRACE,  /* nor has any other */
};

/* What a consumer is told of. */
struct fg_stretch {
    struct fg_call_thread *thread;
    struct fg_call_level *level;
    void *call; /* the consumer's */
    uint32_t depth;
    uint64_t ran_ns, self_ns; /* of its end: how long it took; of that without callees */
};

struct fg_call_assembler;

/* What damage is to a consumer, for call_events.h. */
enum fg_damage_rule {
    FG_DAMAGE_FAILS, /* an error: what was made of the events before it would look whole */
    FG_DAMAGE_SKIPS, /* no error: the trace is read once more, and that reading fails */
};

/* What takes the calls. Each function returns 0 or a negative errno, which ends the assembly. */
struct fg_call_consumer {
    uint32_t call_bytes, thread_bytes;
    bool names_calls;  /* knows calls by their names across suspends */
    bool links_levels; /* looks for the calls around one, at whatever depth: fg_innermost_level() */
    enum fg_damage_rule damage;

    /* A call is met for the first time. The level is open. Its parent is fg_parent_level(). @graph: an entry;
     * a resume, if what came before is not in the trace; an exit, if the level is late. @source: what the
     * event was made of. */
    int (*begin)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                 const struct fg_graph_data *graph, const void *source);
    /* A call with a name goes on. @graph: a resume; or an exit, if the level is late. */
    int (*resume)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *source);
    /* The stretch ended, and the call is suspended. */
    int (*suspend)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *source);
    /* The call ended. A suspend without a name ends it too: it cannot be found again. */
    int (*end)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
               const struct fg_graph_data *graph, const void *source);
    /* The stretch is over at @until_ns at the latest. @goes_on: its call has a name, and may be met again. */
    int (*give_up)(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on);
    /* The call is suspended, and is not met again. */
    int (*forget)(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call);
    /* The thread, or its task in the lane, is over, and so are its calls. NULL: it is of no interest. */
    int (*finish)(struct fg_call_assembler *calls, struct fg_call_thread *thread);
    /* The process of an event. @names: those of the assembler. */
    int32_t (*pid)(const struct fg_name_table *names, const void *source);

    /* ---- for call_events.h. NULL: nothing is done. */

    /* What the consumer calls a function. */
    uint32_t (*function_of)(const struct fg_call_assembler *calls, uint32_t func);
    /* A sound event of a thread, before it changes the calls, and after. */
    int (*before_event)(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_event *event);
    void (*after_event)(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_event *event);
    /* A sound event that is no part of a call. */
    int (*other_event)(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                       const struct fg_event *event);
};

/* The calls in progress and suspended of all threads. A consumer's own state begins with it. */
struct fg_call_assembler {
    const struct fg_call_consumer *consumer;
    unsigned char *threads; /* by number */
    size_t nr_threads, capacity;
    struct fg_named_calls named;
    const struct fg_name_table *names; /* of the trace; call_events.h needs them, and consumer->pid may */
    bool has_times;                    /* the clock counts nanoseconds */
};

void fg_call_assembler_init(struct fg_call_assembler *calls, const struct fg_call_consumer *consumer,
                            const struct fg_name_table *names, bool has_times);
/* Frees its own memory. The consumer frees what its structs hold before: fg_calls_each(). */
void fg_call_assembler_free(struct fg_call_assembler *calls);
/* Calls @visit for the consumer's struct of each call, and for those of levels where no call is. */
void fg_calls_each(struct fg_call_assembler *calls,
                   void (*visit)(struct fg_call_assembler *calls, void *call));

/* Ends the calls in progress at @depth and deeper. */
int fg_calls_give_up(struct fg_call_assembler *calls, struct fg_call_thread *thread, uint32_t depth,
                     enum fg_call_gap gap, uint64_t until_ns);

/* Ends what is in progress in the thread, which has no further event: FG_GAP_THREAD or FG_GAP_TRACE. */
int fg_calls_finish_thread(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                           enum fg_call_gap gap);
/* After the last event: forgets the suspended call at this place, if there is one. */
int fg_calls_finish_named(struct fg_call_assembler *calls, size_t place);
/* After the last event: both, of all threads and places. */
int fg_calls_finish(struct fg_call_assembler *calls);

#define FG_ASSEMBLE static inline __attribute__((always_inline))

FG_ASSEMBLE uint64_t fg_minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* ---- what the event says with which a stretch is met: an exit, if the level is late */

/* Of a call that is met for the first time: whether it had no earlier stretch. */
FG_ASSEMBLE bool fg_begins_whole(const struct fg_call_level *level, const struct fg_graph_data *graph)
{
    if (!level->is_late)
        return !level->is_resumed;
    return graph->kind != FG_EXIT_CLOSE && (!graph->has_start || graph->start_ns == graph->calltime_ns);
}

/* Of such a call: when it began. */
FG_ASSEMBLE uint64_t fg_begins_ns(const struct fg_call_level *level, const struct fg_graph_data *graph,
                                  uint64_t time_ns)
{
    if (!level->is_late && !level->is_resumed)
        return time_ns;
    if (graph->has_start)
        return graph->start_ns;
    return level->is_late ? graph->calltime_ns : time_ns;
}

/* Of a call that goes on: whether it was resumed. One that is suspended may be closed without. */
FG_ASSEMBLE bool fg_is_resume(const struct fg_call_level *level, const struct fg_graph_data *graph)
{
    return !(level->is_late && graph->kind == FG_EXIT_CLOSE);
}

/* ---- tasks */

/* A task in its lane. No event has FG_NO_LANE_TASK. */
FG_ASSEMBLE uint64_t fg_lane_task(const struct fg_event *event)
{
    return (uint64_t)event->lane << 32 | (uint32_t)event->tid;
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

/* ---- for assemble.h */

/* Makes room for the level at @depth. Return: 0 or -ENOMEM. */
int fg_calls_reserve_level(const struct fg_call_assembler *calls, struct fg_call_thread *thread,
                           uint32_t depth);
/* Makes threads up to @number. Return: 0 or -ENOMEM. */
int fg_calls_reserve_thread(struct fg_call_assembler *calls, uint32_t number);
/* The thread's task is another one than before. */
int fg_calls_change_task(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                         const struct fg_event *event);
/* The rest of a begin: of a call with a name, or of one whose first begin is not in the trace. */
int fg_calls_resume(struct fg_call_assembler *calls, struct fg_stretch stretch,
                    const struct fg_graph_data *entry, uint64_t time_ns, const void *source);
/* Makes up the begin of a stretch that ends. */
int fg_calls_begin_late(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_graph_data *exit, uint32_t func, uint64_t time_ns,
                        const void *source);
/* The rest of an end, of a call that has a name, or gets one as it is suspended. */
int fg_calls_end_named(struct fg_call_assembler *calls, struct fg_stretch stretch,
                       const struct fg_graph_data *exit, uint64_t time_ns, const void *source);

#endif
