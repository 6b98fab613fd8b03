/* How often each function was called, and how long it ran.
 *
 *     calls       starts. A call whose start was lost, or not recorded (--thresh), counts at its exit
 *     resumes     how often suspended generators and coroutines were resumed
 *     exceptions  calls that an exception ended
 *     total       time in which the function was running, with its callees. In recursion only the
 *                 outermost call counts. Neither a suspended call nor a task that waits for the recorder is
 *                 running
 *     self        time of all its calls without their traced callees
 *     native      that part of total in which a native function was the innermost call. Of a call whose
 *                 begin is not in the trace none is known
 *     min, max    the shortest and the longest call: the sum of its stretches between suspends
 *
 * A call that is in progress when its task's records end (the program was killed) ends at the last of
 * these records. It counts in total and self, but not in min and max, since its real length is unknown. A
 * call whose exit was lost counts in calls only. */
#ifndef FG_SUMMARY_FIGURES_H
#define FG_SUMMARY_FIGURES_H

#include <stddef.h>
#include <stdint.h>

struct fg_function_summary {
    uint64_t calls, resumes, exceptions;
    uint64_t total_ns, self_ns;
    uint64_t min_ns, max_ns;  /* min_ns is UINT64_MAX while no call has ended */
    uint64_t native_ns;       /* 0 if all of the trace's functions are native, as in a kernel's */
    uint64_t ended, ended_ns; /* the calls of min and max, and their sum: in recursion more than total */
};

/* So many rows: one of each function, one of those without a name, one of all imports. */
#define FG_SUMMARY_ROWS(nr_functions) ((nr_functions) + (size_t)2)

/* What has a root of its own in the merged call tree. */
enum fg_tree_groups {
    FG_TREE_OF_ALL,     /* one root: group 0 */
    FG_TREE_BY_PROCESS, /* the group is the process id */
    FG_TREE_BY_TASK,    /* the task's number in the name table */
};

#endif
