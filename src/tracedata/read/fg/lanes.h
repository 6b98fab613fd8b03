/* Lanes: the pseudo CPUs of a trace. The records of a task lie in one lane. A task that began after a
 * lane's last task had ended may reuse the lane, so thousands of short tasks need few lanes.
 *
 * Each instance, of each host if the trace was merged, has a buffer in the trace, with lanes of its own.
 * trace-cmd knows one number of CPUs for all buffers of a file: the buffer with the most lanes sets it,
 * and the others have empty lanes after theirs. Lane `cpu` of buffer b is number b * nr_cpus + cpu of the
 * trace. */
#ifndef FG_LANES_H
#define FG_LANES_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/spool/contents.h"

struct fg_lane_task {
    uint32_t ring; /* place in contents->rings */
    uint32_t task; /* place in that ring's tasks */
    uint32_t buffer;
    uint32_t lane; /* of all */
    uint64_t first_ns, last_ns;
    uint64_t events; /* 0 until the task is converted */
};

struct fg_lanes {
    struct fg_lane_task *tasks; /* those with records, by lane, and in a lane by time */
    size_t nr_tasks;
    char **buffers; /* their names; the first is "", the top instance's, even if it recorded nothing */
    uint32_t nr_buffers;
    uint32_t *ring_buffers; /* place in contents->rings -> place in `buffers` */
    uint32_t nr_cpus;       /* at least one: trace-cmd refuses a trace without CPUs */
    uint32_t nr_lanes;      /* of all buffers */
};

/* Return: 0; -ENOMEM: nothing is left to free. */
int fg_lanes_assign(const struct fg_contents *contents, struct fg_lanes *lanes);
void fg_lanes_free(struct fg_lanes *lanes);

#endif
