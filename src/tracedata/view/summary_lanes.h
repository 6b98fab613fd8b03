/* The lanes of a summary's threads (summary_lane.h). A lane grows with the number of functions: a thread has
 * one only while it is within a call, and hands it on then. */
#ifndef FG_SUMMARY_LANES_H
#define FG_SUMMARY_LANES_H

#include "tracedata/view/summary_lane.h"

/* For all threads together, unless few have more. Most of it is never touched. */
#define FG_SUMMARY_LANES_BYTES (UINT64_C(4) << 30)
#define FG_SUMMARY_LANES_MIN 64

struct fg_summary_lanes {
    uint32_t nr_functions;
    struct fg_summary_lane **lanes; /* all of them */
    size_t n, capacity;
    struct fg_summary_lane **spare; /* those that no thread has */
    size_t nr_spare, spare_capacity;
};

void fg_summary_lanes_free(struct fg_summary_lanes *lanes);

/* Takes a spare lane, or makes one. Return: 0; -ENOSPC: too many threads are in calls; or -ENOMEM. */
int fg_summary_lanes_take(struct fg_summary_lanes *lanes, struct fg_summary_lane **lane);

/* Takes back a lane, which is as a new one. */
static inline void fg_summary_lanes_give_back(struct fg_summary_lanes *lanes, struct fg_summary_lane *lane)
{
    lanes->spare[lanes->nr_spare++] = lane;
}

#endif
