/* See lanes.h. */
#include "tracedata/read/fg/lanes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
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
    size_t count = 0;

    for (size_t i = 0; i < contents->nr_rings; i++)
        count += contents->rings[i].nr_tasks;
    lanes->tasks = calloc(count + 1, sizeof(*lanes->tasks));
    if (lanes->tasks == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks; j++) {
            const struct fg_trace_task *task = &ring->tasks[j];

            if (task->last_ticks == 0)
                continue;
            lanes->tasks[lanes->nr_tasks++] = (struct fg_lane_task){
                .ring = (uint32_t)i,
                .task = (uint32_t)j,
                .buffer = lanes->ring_buffers[i],
                .first_ns = fg_time_scale_ns(&ring->scale, task->first_ticks),
                .last_ns = fg_time_scale_ns(&ring->scale, task->last_ticks),
            };
        }
    }
    return 0;
}

/* A buffer is named HOST, HOST/INSTANCE, or INSTANCE where the trace is of one host. */
static bool has_name(const struct fg_trace_ring *ring, const char *name)
{
    size_t bytes = ring->host.name ? strlen(ring->host.name) : 0;

    if (bytes == 0)
        return strcmp(name, ring->instance) == 0;
    if (strncmp(name, ring->host.name, bytes) != 0)
        return false;
    name += bytes;
    return *ring->instance ? *name == '/' && strcmp(name + 1, ring->instance) == 0 : *name == 0;
}

/* NULL: memory is short. */
static char *make_name(const struct fg_trace_ring *ring)
{
    const char *host = ring->host.name ? ring->host.name : "";
    size_t bytes = strlen(host) + strlen(ring->instance) + 2;
    char *name = malloc(bytes);

    if (name)
        snprintf(name, bytes, "%s%s%s", host, *host && *ring->instance ? "/" : "", ring->instance);
    return name;
}

/* The number of the ring's buffer, which is added if it is new; -ENOMEM. */
static int64_t find_buffer(const struct fg_trace_ring *ring, struct fg_lanes *lanes)
{
    uint32_t buffer = 0;

    while (buffer < lanes->nr_buffers && !has_name(ring, lanes->buffers[buffer]))
        buffer++;
    if (buffer == lanes->nr_buffers) {
        lanes->buffers[buffer] = make_name(ring);
        if (lanes->buffers[buffer] == NULL)
            return -ENOMEM;
        lanes->nr_buffers++;
    }
    return buffer;
}

/* Finds the buffers, in the order of their first rings, and the buffer of each ring. */
static int find_buffers(const struct fg_contents *contents, struct fg_lanes *lanes)
{
    const struct fg_trace_ring top = {0};
    int64_t buffer;

    lanes->buffers = calloc(contents->nr_rings + 1, sizeof(*lanes->buffers));
    lanes->ring_buffers = calloc(contents->nr_rings + 1, sizeof(*lanes->ring_buffers));
    if (lanes->buffers == NULL || lanes->ring_buffers == NULL)
        return -ENOMEM;
    buffer = find_buffer(&top, lanes);
    for (size_t i = 0; i < contents->nr_rings && buffer >= 0; i++) {
        buffer = find_buffer(&contents->rings[i], lanes);
        lanes->ring_buffers[i] = (uint32_t)buffer;
    }
    return buffer < 0 ? (int)buffer : 0;
}

/* When the last task of each lane of one buffer ends, as a tree: least[i] is the less of least[2 i] and
 * least[2 i + 1], lane l is least[capacity + l], and 0 for lanes that no task has had. */
struct lane_ends {
    uint64_t *least;
    uint32_t capacity; /* a power of two, above `used` */
    uint32_t used;
};

static void lane_ends_set(struct lane_ends *ends, uint32_t lane, uint64_t end_ns)
{
    uint32_t at = ends->capacity + lane;

    ends->least[at] = end_ns;
    for (at /= 2; at > 0; at /= 2) {
        uint64_t left = ends->least[2 * at], right = ends->least[2 * at + 1];

        ends->least[at] = left < right ? left : right;
    }
}

static int lane_ends_grow(struct lane_ends *ends)
{
    struct lane_ends larger = {.capacity = ends->capacity ? 2 * ends->capacity : 2, .used = ends->used};

    larger.least = calloc(2 * (size_t)larger.capacity, sizeof(*larger.least));
    if (larger.least == NULL)
        return -ENOMEM;
    for (uint32_t lane = 0; lane < ends->used; lane++)
        lane_ends_set(&larger, lane, ends->least[ends->capacity + lane]);
    free(ends->least);
    *ends = larger;
    return 0;
}

/* Has a task take the first lane whose last task ended before it began. */
static int take_lane(struct lane_ends *ends, struct fg_lane_task *task)
{
    uint32_t at = 1;

    if (ends->used + 1 >= ends->capacity && lane_ends_grow(ends) < 0)
        return -ENOMEM;
    task->lane = ends->used;
    if (ends->least[1] < task->first_ns) {
        while (at < ends->capacity)
            at = 2 * at + (ends->least[2 * at] >= task->first_ns);
        task->lane = at - ends->capacity;
    }
    if (task->lane == ends->used)
        ends->used++;
    lane_ends_set(ends, task->lane, task->last_ns);
    return 0;
}

/* Assigns the tasks, which are in order of time, lanes within their buffers. */
static int assign_cpus(struct fg_lanes *lanes)
{
    struct lane_ends *ends = calloc(lanes->nr_buffers, sizeof(*ends));
    int error = ends ? 0 : -ENOMEM;

    for (size_t i = 0; i < lanes->nr_tasks && error == 0; i++)
        error = take_lane(&ends[lanes->tasks[i].buffer], &lanes->tasks[i]);
    lanes->nr_cpus = 0;
    for (uint32_t i = 0; i < lanes->nr_buffers && ends; i++) {
        if (ends[i].used > lanes->nr_cpus)
            lanes->nr_cpus = ends[i].used;
        free(ends[i].least);
    }
    free(ends);
    return error;
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
    for (uint32_t i = 0; i < lanes->nr_buffers; i++)
        free(lanes->buffers[i]);
    free(lanes->buffers);
    free(lanes->ring_buffers);
    *lanes = (struct fg_lanes){0};
}
