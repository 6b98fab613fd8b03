/* See lanes.h. */
#include "tracedata/read/lanes.h"

#include "engine/core/array.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    struct fg_time_scales scales = fg_contents_time_scales(contents);
    size_t count = 0;

    for (size_t i = 0; i < contents->nr_rings; i++)
        count += contents->rings[i].nr_tasks;
    lanes->tasks = calloc(count + 1, sizeof(*lanes->tasks));
    if (lanes->tasks == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];
        const struct fg_time_scale *scale = fg_time_scale_of(&scales, ring);

        for (size_t j = 0; j < ring->nr_tasks; j++) {
            const struct fg_trace_task *task = &ring->tasks[j];

            if (task->last_ticks == 0)
                continue;
            lanes->tasks[lanes->nr_tasks++] = (struct fg_lane_task){
                .ring = (uint32_t)i,
                .task = (uint32_t)j,
                .buffer = lanes->ring_buffers[i],
                .first_ns = fg_time_scale_ns(scale, task->first_ticks),
                .last_ns = fg_time_scale_ns(scale, task->last_ticks),
            };
        }
    }
    return 0;
}

/* Finds the buffers, in the order of their first rings, and the buffer of each ring. */
static int find_buffers(const struct fg_contents *contents, struct fg_lanes *lanes)
{
    lanes->buffers = calloc(contents->nr_rings + 1, sizeof(*lanes->buffers));
    lanes->ring_buffers = calloc(contents->nr_rings + 1, sizeof(*lanes->ring_buffers));
    if (lanes->buffers == NULL || lanes->ring_buffers == NULL)
        return -ENOMEM;
    lanes->buffers[lanes->nr_buffers++] = "";
    for (size_t i = 0; i < contents->nr_rings; i++) {
        uint32_t buffer = 0;

        while (buffer < lanes->nr_buffers && strcmp(lanes->buffers[buffer], contents->rings[i].instance) != 0)
            buffer++;
        if (buffer == lanes->nr_buffers)
            lanes->buffers[lanes->nr_buffers++] = contents->rings[i].instance;
        lanes->ring_buffers[i] = buffer;
    }
    return 0;
}

/* Assigns the tasks, which are in order of time, lanes within their buffers. */
static int assign_cpus(struct fg_lanes *lanes)
{
    /* [b + lane * nr_buffers]: when the last task in that lane of buffer b ends. It grows with the lanes,
     * of which there are fewer than tasks. */
    uint64_t *ends = NULL;
    size_t capacity = 0;

    lanes->nr_cpus = 0;
    for (size_t i = 0; i < lanes->nr_tasks; i++) {
        struct fg_lane_task *task = &lanes->tasks[i];

        while (task->lane < lanes->nr_cpus &&
               ends[task->buffer + (size_t)task->lane * lanes->nr_buffers] >= task->first_ns)
            task->lane++;
        if (task->lane == lanes->nr_cpus) {
            size_t row = (size_t)lanes->nr_cpus * lanes->nr_buffers;

            if (fg_array_reserve_zeroed(&ends, &capacity, row + lanes->nr_buffers) < 0) {
                free(ends);
                return -ENOMEM;
            }
            lanes->nr_cpus++;
        }
        ends[task->buffer + (size_t)task->lane * lanes->nr_buffers] = task->last_ns;
    }
    free(ends);
    return 0;
}

int fg_lanes_assign(const struct fg_contents *contents, struct fg_lanes *lanes)
{
    int error;

    *lanes = (struct fg_lanes){0};
    error = find_buffers(contents, lanes);
    if (error == 0)
        error = collect(contents, lanes);
    if (error == 0) {
        qsort(lanes->tasks, lanes->nr_tasks, sizeof(*lanes->tasks), by_time);
        error = assign_cpus(lanes);
    }
    if (error < 0) {
        fg_lanes_free(lanes);
        return error;
    }
    if (lanes->nr_cpus == 0)
        lanes->nr_cpus = 1;
    lanes->nr_lanes = lanes->nr_buffers * lanes->nr_cpus;
    for (size_t i = 0; i < lanes->nr_tasks; i++)
        lanes->tasks[i].lane += lanes->tasks[i].buffer * lanes->nr_cpus;
    qsort(lanes->tasks, lanes->nr_tasks, sizeof(*lanes->tasks), by_lane);
    return 0;
}

void fg_lanes_free(struct fg_lanes *lanes)
{
    free(lanes->tasks);
    free((void *)lanes->buffers);
    free(lanes->ring_buffers);
    *lanes = (struct fg_lanes){0};
}
