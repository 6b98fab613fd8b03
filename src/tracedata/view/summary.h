/* How often each function was called, and how long it ran.
 *
 *     calls       starts. A call whose start was lost, or not recorded (--thresh), counts at its exit
 *     resumes     how often suspended generators and coroutines were resumed
 *     exceptions  calls that an exception ended
 *     total       time in which the function was running, with its callees. In recursion only the
 *                 outermost call counts. Neither a suspended call nor a task that waits for the recorder is
 *                 running
 *     self        time of all its calls without their traced callees
 *     min, max    the shortest and the longest call: the sum of its stretches between suspends
 *
 * A call that is in progress when its task's records end (the program was killed) ends at the last of
 * these records. It counts in total and self, but not in min and max, since its real length is unknown. A
 * call whose exit was lost counts in calls only. */
#ifndef FG_SUMMARY_H
#define FG_SUMMARY_H

#include "tracedata/read/merge.h"

struct fg_function_summary {
    uint64_t calls, resumes, exceptions;
    uint64_t total_ns, self_ns;
    uint64_t min_ns, max_ns;  /* min_ns is UINT64_MAX while no call has ended */
    uint64_t ended, ended_ns; /* the calls of min and max, and their sum: in recursion more than total */
};

struct fg_summary;

/* Begins a summary of all events of `merge`, which stays the caller's and must live as long. Return: 0 or
 * -ENOMEM. */
int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary);
void fg_summary_free(struct fg_summary *summary);

/* Counts up to `events` more events. Return: 1; 0: that was all; or an error of fg_merge_next(). */
int fg_summary_run(struct fg_summary *summary, uint64_t events);

/* The figures by function index; after the trace's functions comes one for all that it does not name. */
const struct fg_function_summary *fg_summary_functions(const struct fg_summary *summary);

/* How often each kind of event was hit, by its number in the trace (event_table.h); @n: so many kinds. */
const uint64_t *fg_summary_events(const struct fg_summary *summary, size_t *n);

#endif
