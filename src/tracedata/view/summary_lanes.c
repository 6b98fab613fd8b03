/* See summary_lanes.h. */
#include "tracedata/view/summary_lanes.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/view/summary_figures.h"

void fg_summary_lanes_free(struct fg_summary_lanes *lanes)
{
    for (size_t i = 0; i < lanes->n; i++)
        fg_summary_lane_free(lanes->lanes[i]);
    free((void *)lanes->lanes);
    free((void *)lanes->spare);
    *lanes = (struct fg_summary_lanes){.nr_functions = lanes->nr_functions};
}

static int make(struct fg_summary_lanes *lanes, struct fg_summary_lane **lane)
{
    uint64_t bytes = FG_SUMMARY_ROWS(lanes->nr_functions) * UINT64_C(2) * sizeof(uint32_t);

    if (lanes->n >= FG_SUMMARY_LANES_MIN && lanes->n >= FG_SUMMARY_LANES_BYTES / bytes)
        return -ENOSPC;
    if (fg_array_reserve(&lanes->lanes, &lanes->capacity, lanes->n + 1) < 0 ||
        fg_array_reserve(&lanes->spare, &lanes->spare_capacity, lanes->n + 1) < 0)
        return -ENOMEM;
    *lane = fg_summary_lane_new(lanes->nr_functions);
    if (!*lane)
        return -ENOMEM;
    lanes->lanes[lanes->n++] = *lane;
    return 0;
}

int fg_summary_lanes_take(struct fg_summary_lanes *lanes, struct fg_summary_lane **lane)
{
    if (!lanes->nr_spare)
        return make(lanes, lane);
    *lane = lanes->spare[--lanes->nr_spare];
    return 0;
}
