/* See lanes.h. */
#include "lanes.h"

#include <errno.h>
#include <stdlib.h>

static int by_time(const void *a, const void *b)
{
    const struct fg_lane_task *one = a, *other = b;

    if (one->first_ns != other->first_ns)
        return one->first_ns < other->first_ns ? -1 : 1;
    if (one->ring != other->ring)
        return one->ring < other->ring ? -1 : 1;
    return (one->task > other->task) - (one->task < other->task);
}

static int by_lane(const void *a, const void *b)
{
    const struct fg_lane_task *one = a, *other = b;

    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    return by_time(a, b);
}

static int collect(const struct fg_contents *contents, struct fg_lanes *lanes)
{
    size_t count = 0;

    for (size_t i = 0; i < contents->nr_rings; i++)
        count += contents->rings[i].nr_tasks;
    lanes->tasks = calloc(count + 1, sizeof(*lanes->tasks));
    if (lanes->tasks == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];
        struct fg_time_scale scale = fg_contents_time_scale(contents, ring->clock_kind);

        for (size_t j = 0; j < ring->nr_tasks; j++) {
            const struct fg_trace_task *task = &ring->tasks[j];

            if (task->last_ticks == 0)
                continue;
            lanes->tasks[lanes->nr_tasks++] = (struct fg_lane_task){
                .ring = (uint32_t)i,
                .task = (uint32_t)j,
                .first_ns = fg_time_scale_ns(&scale, task->first_ticks),
                .last_ns = fg_time_scale_ns(&scale, task->last_ticks),
            };
        }
    }
    return 0;
}

int fg_lanes_assign(const struct fg_contents *contents, struct fg_lanes *lanes)
{
    uint64_t *lane_ends;
    int error;

    *lanes = (struct fg_lanes){0};
    error = collect(contents, lanes);
    if (error < 0)
        return error;
    lane_ends = calloc(lanes->nr_tasks + 1, sizeof(*lane_ends));
    if (lane_ends == NULL) {
        fg_lanes_free(lanes);
        return -ENOMEM;
    }
    qsort(lanes->tasks, lanes->nr_tasks, sizeof(*lanes->tasks), by_time);
    for (size_t i = 0; i < lanes->nr_tasks; i++) {
        struct fg_lane_task *task = &lanes->tasks[i];

        while (task->lane < lanes->nr_lanes && lane_ends[task->lane] >= task->first_ns)
            task->lane++;
        lane_ends[task->lane] = task->last_ns;
        if (task->lane == lanes->nr_lanes)
            lanes->nr_lanes++;
    }
    free(lane_ends);
    qsort(lanes->tasks, lanes->nr_tasks, sizeof(*lanes->tasks), by_lane);
    return 0;
}

void fg_lanes_free(struct fg_lanes *lanes)
{
    free(lanes->tasks);
    *lanes = (struct fg_lanes){0};
}
