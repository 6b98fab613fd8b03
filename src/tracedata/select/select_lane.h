/* One thread under a selection: the calls in progress, and from them the verdict on each event. */
#ifndef FG_SELECT_LANE_H
#define FG_SELECT_LANE_H

#include "tracedata/select/pending.h"
#include "tracedata/select/selection.h"

/* What the verdicts depend on besides the selection. */
struct fg_select_rules {
    const struct fg_selection *selection;
    bool counts_time; /* the trace's clock counts something else than nanoseconds */
};

/* A call in progress, whose beginning was read. */
struct fg_selected_call {
    uint32_t func, depth;
    uint32_t nr_shown; /* of the calls around it */
    bool is_inside;    /* it, or a call around it, is a root */
    bool is_shown;     /* it counts as a level */
    bool is_long;      /* it runs long enough */
    bool is_held;
    uint64_t held; /* the number of its beginning among the held events */
    uint64_t began_ns, waited_ns;
};

/* Of one thread (fg_event.thread). */
struct fg_select_lane {
    struct fg_selected_call *calls; /* from the outermost one on: each is deeper than the one before */
    size_t nr_calls, capacity;
    bool has_task;
    int32_t tid;
    uint64_t last_ns, wait_ns; /* of the task: its latest event; its waits for the recorder */
    bool shows_latest;         /* the latest event was shown: so is its stack trace */
    struct fg_pending *held;   /* of its lane; of a kernel's trace of its buffer */
};

void fg_select_lane_free(struct fg_select_lane *lane);

/**
 * fg_select_lane_judge() - Take in the lane's next event.
 *
 * An event whose verdict is open was put into lane->held, and so were all others to be shown if the selection
 * has a least duration. *@depth: at which a call is shown.
 *
 * Return: enum fg_verdict, or -ENOMEM.
 */
int fg_select_lane_judge(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                         const struct fg_event *event, uint32_t *depth);

/* The task has no further event: decides about its calls in progress. */
void fg_select_lane_finish(struct fg_select_lane *lane, const struct fg_select_rules *rules);

#endif
