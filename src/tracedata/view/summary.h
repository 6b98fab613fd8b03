/* Per function: how often it was called and how long it ran.
 *
 *     calls       starts. A call whose start was lost, or not recorded (--thresh), counts when its exit is met
 *     resumes     times a suspended generator or coroutine ran on
 *     exceptions  calls that an exception ended
 *     total       time in which the function was running, its callees included. In recursion only the
 *                 outermost call counts; a suspended call is not running, and neither is a task that waits
 *                 for the recorder
 *     self        total of all its calls without the callees that were traced
 *     min, max    the shortest and the longest call. A call is the sum of its parts between suspends
 *
 * A call that is still running when its task's trace ends (the program was killed) has run until the last
 * thing recorded of the task: that counts in total and self, but not in min and max, because how long the
 * call would have been nobody knows. A call whose exit was lost counts in calls only. */
#ifndef FG_SUMMARY_H
#define FG_SUMMARY_H

#include "tracedata/read/merge.h"

struct fg_function_summary {
    uint64_t calls, resumes, exceptions;
    uint64_t total_ns, self_ns;
    uint64_t min_ns, max_ns;  /* min_ns is UINT64_MAX while no call has ended */
    uint64_t ended, ended_ns; /* calls that min and max are of, and their sum: in recursion more than total */
};

struct fg_summary;

/* Adds up what the merge delivers; the merge stays the caller's. Returns 0 or -ENOMEM. */
int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary);
void fg_summary_free(struct fg_summary *summary);

/* Takes up to `events` further events: 1, or 0 when there are no more, or an error as fg_merge_next. */
int fg_summary_run(struct fg_summary *summary, uint64_t events);

/* By function index; one more than the trace has, the last for functions it does not name. */
const struct fg_function_summary *fg_summary_functions(const struct fg_summary *summary);

#endif
