/* See summary_threads.h. */
#include "tracedata/view/summary_threads.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/core/array.h"

struct fg_summary_threads *fg_summary_threads_new(uint32_t nr_functions)
{
    struct fg_summary_threads *threads = calloc(1, sizeof(*threads));

    if (threads)
        threads->nr_functions = nr_functions;
    return threads;
}

static void free_lane(struct fg_summary_lane *lane)
{
    fg_summary_lane_free(lane);
    free(lane);
}

void fg_summary_threads_free(struct fg_summary_threads *threads)
{
    if (!threads)
        return;
    for (size_t i = 0; i < threads->nr_spare; i++)
        free_lane(threads->spare[i]);
    for (size_t i = 0; i < threads->n; i++)
        if (threads->lanes[i])
            free_lane(threads->lanes[i]);
    free((void *)threads->lanes);
    free((void *)threads->spare);
    free(threads);
}

/* Makes room for threads up to @number. */
static int reserve_threads(struct fg_summary_threads *threads, uint32_t number)
{
    if (fg_array_reserve(&threads->lanes, &threads->capacity, number + (size_t)1) < 0)
        return -ENOMEM;
    while (threads->n <= number)
        threads->lanes[threads->n++] = NULL;
    return 0;
}

/* Makes a spare one. Both its arrays are as long as there are functions. */
static int add_spare(struct fg_summary_threads *threads)
{
    uint64_t bytes = (threads->nr_functions + UINT64_C(1)) * 2 * sizeof(uint32_t);

    if (threads->nr_lanes >= FG_SUMMARY_THREADS_MIN && threads->nr_lanes >= FG_SUMMARY_THREADS_BYTES / bytes)
        return -ENOSPC;
    if (fg_array_reserve(&threads->spare, &threads->spare_capacity, threads->nr_lanes + 1) < 0)
        return -ENOMEM;
    threads->spare[0] = calloc(1, sizeof(*threads->spare[0]));
    if (!threads->spare[0])
        return -ENOMEM;
    threads->nr_spare = 1;
    threads->nr_lanes++;
    return 0;
}

int fg_summary_thread_begin(struct fg_summary_threads *threads, uint32_t number)
{
    int error = number < threads->n ? 0 : reserve_threads(threads, number);

    if (error || threads->lanes[number])
        return error;
    if (!threads->nr_spare)
        error = add_spare(threads);
    if (!error)
        threads->lanes[number] = threads->spare[--threads->nr_spare];
    return error;
}

void fg_summary_thread_end(struct fg_summary_threads *threads, uint32_t number)
{
    struct fg_summary_lane *lane = threads->lanes[number];

    if (lane->depth || lane->nr_unrooted || lane->tree.nr_branches)
        return;
    threads->lanes[number] = NULL;
    threads->spare[threads->nr_spare++] = lane;
}
