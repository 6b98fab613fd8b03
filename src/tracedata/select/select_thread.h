/* Threads under a selection: the calls in progress, and from them the verdict on each event. */
#ifndef FG_SELECT_THREAD_H
#define FG_SELECT_THREAD_H

#include "tracedata/calls/assembler.h"
#include "tracedata/select/pending.h"
#include "tracedata/select/selection.h"

/* What the verdicts depend on besides the selection. */
struct fg_select_rules {
    const struct fg_selection *selection;
    bool has_times; /* the trace's clock counts nanoseconds */
};

/* A thread. A call that goes on in another one is not looked for: threads are judged each by itself, as far
 * ahead of the merge as their durations take. */
struct fg_select_thread {
    struct fg_call_thread thread;
    bool shows_latest;       /* the latest event was shown: so is its stack trace */
    struct fg_pending *held; /* of its lane; of a kernel's trace of its buffer. NULL: it has no event yet */
    uint32_t next;           /* for the owner: the next thread of the same lane */
    uint64_t nr_events;      /* of calls, so far: the number of the next one (call_marks.h) */
};

/* The threads under a selection, by fg_event.thread. */
struct fg_select_threads {
    struct fg_call_assembler calls;
    struct fg_select_rules rules;
    uint32_t depth; /* of the call that is being judged: at which it is shown */
    int verdict;
};

void fg_select_threads_init(struct fg_select_threads *threads, struct fg_select_rules rules);
void fg_select_threads_free(struct fg_select_threads *threads);

/* Return: NULL if memory is short. */
struct fg_select_thread *fg_select_thread_of(struct fg_select_threads *threads, uint32_t number);

/**
 * fg_select_thread_judge() - Take in the thread's next event.
 *
 * An event whose verdict is open was put into thread->held, and so were all others to be shown if the
 * selection has a least duration. *@depth: at which a call is shown.
 *
 * Return: enum fg_verdict, or -ENOMEM.
 */
int fg_select_thread_judge(struct fg_select_threads *threads, struct fg_select_thread *thread,
                           const struct fg_event *event, uint32_t *depth);

/* The thread has no further event: decides about its calls in progress. */
void fg_select_thread_finish(struct fg_select_threads *threads, struct fg_select_thread *thread);

#endif
