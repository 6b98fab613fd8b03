/* Promise: a task takes the first lane of its buffer whose last task ended before it began, however many
 * tasks run at one time. Random tasks get the lanes that a plain search finds. A crowd is not searched
 * through. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/spool_bytes.h"
#include "tracedata/read/fg/lanes.h"

#define ROUNDS 2000
#define MAX_RINGS 6u
#define MAX_TASKS 40u
#define CROWD 1000000u

static void begin(struct fg_contents *contents, size_t nr_rings)
{
    *contents = (struct fg_contents){.nr_rings = nr_rings};
    contents->rings = calloc(nr_rings, sizeof(*contents->rings));
    assert(contents->rings);
    for (size_t i = 0; i < nr_rings; i++)
        contents->rings[i].clock_kind = FG_CLOCK_MONOTONIC;
}

static void add_task(struct fg_trace_ring *ring, uint64_t first, uint64_t last)
{
    ring->tasks[ring->nr_tasks] =
        (struct fg_trace_task){.id = (uint32_t)ring->nr_tasks, .first_ticks = first, .last_ticks = last};
    ring->nr_tasks++;
}

/* Rings of up to three instances. Times are few, so that many are equal. */
static void make_random(struct fg_contents *contents)
{
    uint64_t span = 1 + fg_test_chance() % 100, longest = 1 + fg_test_chance() % 30;

    begin(contents, 1 + fg_test_chance() % MAX_RINGS);
    for (size_t i = 0; i < contents->nr_rings; i++) {
        struct fg_trace_ring *ring = &contents->rings[i];
        uint64_t nr_tasks = fg_test_chance() % (MAX_TASKS + 1);

        snprintf(ring->instance, sizeof(ring->instance), "%.*s", (int)(fg_test_chance() % 3), "ab");
        ring->tasks = calloc(nr_tasks + 1, sizeof(*ring->tasks));
        assert(ring->tasks);
        for (uint64_t j = 0; j < nr_tasks; j++) {
            uint64_t first = 1 + fg_test_chance() % span;

            add_task(ring, first, fg_test_chance() % 10 ? first + fg_test_chance() % longest : 0);
        }
    }
}

/* The rule as the page has it: for each task, by time, each lane of its buffer is looked at. Return: how many
 * lanes the buffer with the most has. */
static uint32_t search(const struct fg_lanes *lanes, const struct fg_lane_task *by_time, uint32_t *found)
{
    uint64_t *ends = calloc(lanes->nr_tasks + 1, sizeof(*ends)); /* of one buffer's lanes */
    uint32_t most = 1;

    assert(ends);
    for (uint32_t buffer = 0; buffer < lanes->nr_buffers; buffer++) {
        uint32_t used = 0;

        for (size_t i = 0; i < lanes->nr_tasks; i++) {
            uint32_t lane = 0;

            if (by_time[i].buffer != buffer)
                continue;
            while (lane < used && ends[lane] >= by_time[i].first_ns)
                lane++;
            used += lane == used;
            ends[lane] = by_time[i].last_ns;
            found[i] = lane;
        }
        most = used > most ? used : most;
    }
    free(ends);
    return most;
}

static int by_time(const void *a, const void *b)
{
    const struct fg_lane_task *one = a, *other = b;

    if (one->first_ns != other->first_ns)
        return one->first_ns < other->first_ns ? -1 : 1;
    if (one->ring != other->ring)
        return one->ring < other->ring ? -1 : 1;
    return (one->task > other->task) - (one->task < other->task);
}

static void check(const struct fg_lanes *lanes)
{
    struct fg_lane_task *tasks = malloc((lanes->nr_tasks + 1) * sizeof(*tasks));
    uint32_t *found = calloc(lanes->nr_tasks + 1, sizeof(*found));

    assert(tasks && found);
    memcpy(tasks, lanes->tasks, lanes->nr_tasks * sizeof(*tasks));
    qsort(tasks, lanes->nr_tasks, sizeof(*tasks), by_time);
    assert(lanes->nr_cpus == search(lanes, tasks, found));
    assert(lanes->nr_lanes == lanes->nr_cpus * lanes->nr_buffers);
    for (size_t i = 0; i < lanes->nr_tasks; i++)
        assert(tasks[i].lane == tasks[i].buffer * lanes->nr_cpus + found[i]);
    for (size_t i = 1; i < lanes->nr_tasks; i++)
        assert(lanes->tasks[i].lane > lanes->tasks[i - 1].lane ||
               (lanes->tasks[i].lane == lanes->tasks[i - 1].lane &&
                lanes->tasks[i].first_ns > lanes->tasks[i - 1].last_ns));
    free(found);
    free(tasks);
}

static void random_tasks_get_the_lanes_of_a_plain_search(void)
{
    uint32_t most = 0;

    for (int i = 0; i < ROUNDS; i++) {
        struct fg_contents contents;
        struct fg_lanes lanes;

        make_random(&contents);
        assert(fg_lanes_assign(&contents, &lanes) == 0);
        check(&lanes);
        most = lanes.nr_cpus > most ? lanes.nr_cpus : most;
        fg_lanes_free(&lanes);
        fg_contents_free(&contents);
    }
    assert(most > 20); /* many were open at once */
}

/* A task at time 0 takes a lane that no task has had, even if other buffers have more lanes. */
static void a_task_at_time_0_takes_a_free_lane(void)
{
    struct fg_contents contents;
    struct fg_lanes lanes;

    begin(&contents, 2);
    strcpy(contents.rings[1].instance, "a");
    for (size_t i = 0; i < 2; i++) {
        contents.rings[i].tasks = calloc(3, sizeof(struct fg_trace_task));
        assert(contents.rings[i].tasks);
        for (size_t j = 0; j < 3 - i; j++)
            add_task(&contents.rings[i], 0, 5);
    }
    assert(fg_lanes_assign(&contents, &lanes) == 0);
    check(&lanes);
    assert(lanes.nr_cpus == 3);
    fg_lanes_free(&lanes);
    fg_contents_free(&contents);
}

/* All of them run at one time: 500 billion looks at lanes, if each one looked at all. */
static void a_crowd_is_not_searched_through(void)
{
    struct fg_contents contents;
    struct fg_lanes lanes;

    begin(&contents, 1);
    contents.rings[0].tasks = calloc(CROWD, sizeof(struct fg_trace_task));
    assert(contents.rings[0].tasks);
    for (uint32_t i = 0; i < CROWD; i++)
        add_task(&contents.rings[0], 1 + i, 2 * CROWD - i);
    assert(fg_lanes_assign(&contents, &lanes) == 0);
    assert(lanes.nr_cpus == CROWD);
    for (uint32_t i = 0; i < CROWD; i++)
        assert(lanes.tasks[i].lane == i && lanes.tasks[i].task == i);
    fg_lanes_free(&lanes);
    fg_contents_free(&contents);
}

static void without_tasks_there_is_one_lane(void)
{
    struct fg_contents contents = {0};
    struct fg_lanes lanes;

    assert(fg_lanes_assign(&contents, &lanes) == 0);
    assert(lanes.nr_cpus == 1 && lanes.nr_lanes == 1 && lanes.nr_tasks == 0);
    fg_lanes_free(&lanes);
}

int main(void)
{
    random_tasks_get_the_lanes_of_a_plain_search();
    a_task_at_time_0_takes_a_free_lane();
    a_crowd_is_not_searched_through();
    without_tasks_there_is_one_lane();
    return 0;
}
