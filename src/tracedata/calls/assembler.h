/* Calls, put together from events: the one place that knows which events are one call.
 *
 * A call begins, may be suspended and resumed, and ends. Each stretch, between a begin or resume and a suspend
 * or end, is at a depth of its thread's stack. Any of these events may be missing from a trace.
 *
 *     events of a thread       depth 0   1   2     what is reported
 *     entry f                        f             begin f
 *     entry g                        f   g         begin g
 *     (lost: return g)               f   g
 *     entry h, depth 1               f   h         give_up g (FG_GAP_LOST), begin h
 *     suspend h                      f             suspend h         it has a name from here on
 *     (lost: resume h)               f
 *     return h, depth 1              f             resume h, end h
 *     return k, depth 2              f   .         begin k (late), end k
 *     (the thread's end)                           give_up f (FG_GAP_THREAD)
 *
 * The rules, which each consumer of calls follows by being called back from here:
 *
 *  1. An event at a depth shows that all stretches at that depth and deeper are over. If they have not ended
 *     by now, their ends were lost: they are given up, the innermost first.
 *  2. An end belongs to the stretch at its depth if that is of the same function, and innermost. Else the
 *     begin of its stretch is not in the trace: it is made up, late.
 *  3. A call has a name once it was suspended: when it began, its function, its process. By that name it goes
 *     on, in any thread.
 *  4. A call with a name that goes on while it goes on elsewhere, or whose end was lost there: its suspend is
 *     not in the trace. The stretch is given up, and the call goes on. So it is one call, however often.
 *  5. If another call has the name already, as the clock is too coarse to tell them apart, the later one has
 *     it, and the earlier one is over.
 *  6. How long a stretch took whose end was lost is not known: no time. One that is in progress when its thread
 *     or the trace ends has run until the thread's last event, without its waits for the recorder; no time, if
 *     the clock does not count nanoseconds.
 *  7. The time of a stretch counts as time of callees for the level above it, whether a call is known there or
 *     not: its call may be learned of at its end.
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

#include "tracedata/base/trace_event.h"
#include "tracedata/calls/named_calls.h"

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
    uint32_t lane;
    int32_t tid;
    bool has_task;
    uint64_t last_ns; /* its latest event */
    uint64_t wait_ns; /* how long it has waited for the recorder so far */
};

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

/* What takes the calls. Each function returns 0 or a negative errno, which ends the assembly. */
struct fg_call_consumer {
    uint32_t call_bytes, thread_bytes;
    bool names_calls; /* knows calls by their names across suspends */

    /* A call is met for the first time. The level is open. Its parent is fg_parent_level(). @graph: an entry;
     * a resume, if what came before is not in the trace; an exit, if the level is late. @source: what the
     * event was made of. */
    int (*begin)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                 const struct fg_graph_event *graph, const void *source);
    /* A call with a name goes on. @graph: a resume; or an exit, if the level is late. */
    int (*resume)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_event *graph, const void *source);
    /* The stretch ended, and the call is suspended. */
    int (*suspend)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_event *graph, const void *source);
    /* The call ended. A suspend without a name ends it too: it cannot be found again. */
    int (*end)(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
               const struct fg_graph_event *graph, const void *source);
    /* The stretch is over at @until_ns at the latest. @goes_on: its call has a name, and may be met again. */
    int (*give_up)(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on);
    /* The call is suspended, and is not met again. */
    int (*forget)(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call);
    /* The thread, or its task in the lane, is over, and so are its calls. NULL: it is of no interest. */
    int (*finish)(struct fg_call_assembler *calls, struct fg_call_thread *thread);
    /* The process of an event. */
    int32_t (*pid)(struct fg_call_assembler *calls, const void *source);
};

/* The calls in progress and suspended of all threads. A consumer's own state begins with it. */
struct fg_call_assembler {
    const struct fg_call_consumer *consumer;
    unsigned char *threads; /* by number */
    size_t nr_threads, capacity;
    struct fg_named_calls named;
    bool has_times; /* the clock counts nanoseconds */
};

void fg_call_assembler_init(struct fg_call_assembler *calls, const struct fg_call_consumer *consumer,
                            bool has_times);
/* Frees its own memory. The consumer frees what its structs hold before: fg_calls_each(). */
void fg_call_assembler_free(struct fg_call_assembler *calls);
/* Calls @visit for all structs of calls that were ever in use: zeroed ones, too, and those of calls that ended. */
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

/* ---- for assemble.h */

/* Makes room for the level at @depth. Return: 0 or -ENOMEM. */
int fg_calls_reserve_level(const struct fg_call_assembler *calls, struct fg_call_thread *thread,
                           uint32_t depth);
/* Makes threads up to @number. Return: 0 or -ENOMEM. */
int fg_calls_reserve_thread(struct fg_call_assembler *calls, uint32_t number);
/* The thread's task is another one than before. */
int fg_calls_change_task(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                         const struct fg_event *event);
/* Has the call of this name go on at @depth. Sets level->named. */
int fg_calls_take_named(struct fg_call_assembler *calls, struct fg_call_thread *thread, uint32_t depth,
                        const struct fg_graph_event *graph, uint64_t time_ns, int32_t pid);
/* Makes up the begin of a stretch that ends. */
int fg_calls_begin_late(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_graph_event *exit, uint64_t time_ns, const void *source);
/* After the consumer has taken its suspend: names the call, if it has no name. */
int fg_calls_park(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_event *exit, uint64_t time_ns, int32_t pid);

#endif
