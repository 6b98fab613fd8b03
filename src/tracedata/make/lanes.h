/* Lanes: the pseudo CPUs of a trace. A task's records lie in one lane; a task that began after the last one
 * of a lane ended may have the lane next, so thousands of short tasks need few.
 *
 * Each instance has a buffer of its own in the trace, and its own lanes in it. trace-cmd knows one number of
 * CPUs for all buffers of a file: the buffer with the most lanes sets it, the others have empty ones behind
 * theirs. Lane `cpu` of buffer b is number b * nr_cpus + cpu of the trace. */
#ifndef FG_LANES_H
#define FG_LANES_H

#include "tracedata/spool/contents.h"
#include <stddef.h>
#include <stdint.h>

struct fg_lane_task {
    uint32_t ring; /* place in contents->rings */
    uint32_t task; /* place in that ring's tasks */
    uint32_t buffer;
    uint32_t lane; /* of all */
    uint64_t first_ns, last_ns;
    uint64_t events; /* 0 until they are converted */
};

struct fg_lanes {
    struct fg_lane_task *tasks; /* those with records, by lane, in a lane by time */
    size_t nr_tasks;
    const char **buffers; /* their names; the first is the top instance's, "", also if nobody had that one */
    uint32_t nr_buffers;
    uint32_t *ring_buffers; /* place in contents->rings -> place in `buffers` */
    uint32_t nr_cpus;       /* at least one: a trace without CPUs is none for trace-cmd */
    uint32_t nr_lanes;      /* of all buffers */
};

/* 0 or -ENOMEM. */
int fg_lanes_assign(const struct fg_contents *contents, struct fg_lanes *lanes);
void fg_lanes_free(struct fg_lanes *lanes);

#endif
