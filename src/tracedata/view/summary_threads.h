/* The threads of a kernel's trace, for a summary. A thread may go on in another lane in the middle of a call,
 * so its calls are kept by thread. What they are kept in (summary_lane.h) grows with the number of functions:
 * a thread has it only while it is within a call, and threads that are not hand it on. */
#ifndef FG_SUMMARY_THREADS_H
#define FG_SUMMARY_THREADS_H

#include "tracedata/view/summary_lane.h"

/* For all threads together, unless few have more. */
#define FG_SUMMARY_THREADS_BYTES (UINT64_C(1) << 30)
#define FG_SUMMARY_THREADS_MIN 64

struct fg_summary_threads {
    uint32_t nr_functions;
    struct fg_summary_lane **lanes; /* by fg_event.thread; NULL: it is in no call */
    size_t n, capacity;
    struct fg_summary_lane **spare;
    size_t nr_spare, spare_capacity;
    size_t nr_lanes; /* in use or spare */
};

/* Return: NULL if memory is short. */
struct fg_summary_threads *fg_summary_threads_new(uint32_t nr_functions);
void fg_summary_threads_free(struct fg_summary_threads *threads); /* NULL is let through */

/* Before an event of a thread is added: gives the thread what its calls are kept in. Return: 0; -ENOSPC: too
 * many threads are in calls; or -ENOMEM. */
int fg_summary_thread_begin(struct fg_summary_threads *threads, uint32_t number);

/* The event has been added. */
void fg_summary_thread_end(struct fg_summary_threads *threads, uint32_t number);

#endif
