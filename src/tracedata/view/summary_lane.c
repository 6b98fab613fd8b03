/* See summary_lane.h.
 *
 * Total time counts recursion once. With known entries that is simple: a call is outermost if no other
 * call of its function is in progress. But entries may be lost, and with a threshold only exits are
 * recorded. Then what encloses a call is learned after it, since a caller's exit comes after its
 * callees'. So the time counted for each function is kept by depth. An exit further out moves what lies
 * deeper to its own depth:
 *
 *     depth 2:  g 5 us, g 7 us
 *     depth 1:  f 20 us                    <- exit of f at depth 1: the time of g moves to depth 1
 *     depth 0:  g 30 us                    <- exit of g at depth 0: 12 us are counted, 18 us are added
 */
#include "tracedata/view/summary_lane.h"

#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/view/summary_figures.h"

struct fg_summary_lane *fg_summary_lane_new(uint32_t nr_functions)
{
    struct fg_summary_lane *lane = calloc(1, sizeof(*lane));

    if (!lane)
        return NULL;
    lane->running = calloc(FG_SUMMARY_ROWS(nr_functions), sizeof(*lane->running));
    if (lane->running)
        return lane;
    free(lane);
    return NULL;
}

void fg_summary_lane_free(struct fg_summary_lane *lane)
{
    if (!lane)
        return;
    free(lane->running);
    free(lane->unrooted);
    free(lane->unrooted_top);
    free(lane->tree.places);
    free(lane);
}

void fg_lane_drop_unrooted(struct fg_summary_lane *lane, uint32_t depth)
{
    while (lane->nr_unrooted && lane->unrooted[lane->nr_unrooted - 1].depth >= depth) {
        const struct fg_unrooted_time *top = &lane->unrooted[--lane->nr_unrooted];
        lane->unrooted_top[top->func] = top->below;
    }
}

/* Adds to the function's entry at `depth`, which is the deepest. */
static void put_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func, uint64_t counted_ns)
{
    uint32_t top = lane->unrooted_top[func];
    if (top && lane->unrooted[top - 1].depth == depth) {
        lane->unrooted[top - 1].counted_ns += counted_ns;
        return;
    }
    lane->unrooted[lane->nr_unrooted++] =
        (struct fg_unrooted_time){.func = func, .depth = depth, .below = top, .counted_ns = counted_ns};
    lane->unrooted_top[func] = lane->nr_unrooted;
}

uint64_t fg_lane_settle_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func)
{
    /* Take off all that is deeper, then put it back at this depth. An entry is read before it is
     * overwritten: the stack is never longer than what was read. */
    uint32_t end = lane->nr_unrooted;
    uint64_t inside_ns = 0;
    fg_lane_drop_unrooted(lane, depth + 1);
    for (uint32_t i = lane->nr_unrooted; i < end; i++) {
        struct fg_unrooted_time deeper = lane->unrooted[i];
        if (deeper.func == func)
            inside_ns += deeper.counted_ns;
        else
            put_unrooted(lane, depth, deeper.func, deeper.counted_ns);
    }
    return inside_ns;
}

bool fg_lane_add_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func, uint64_t counted_ns,
                          uint32_t nr_functions)
{
    if (!lane->unrooted_top) {
        lane->unrooted_top = calloc(FG_SUMMARY_ROWS(nr_functions), sizeof(*lane->unrooted_top));
        if (!lane->unrooted_top)
            return false;
    }
    if (fg_array_reserve(&lane->unrooted, &lane->unrooted_capacity, lane->nr_unrooted + (size_t)1) < 0)
        return false;
    put_unrooted(lane, depth, func, counted_ns);
    return true;
}
