/* What a summary needs of a thread that is within calls: what tells which calls are outermost, and where they
 * are in the tree. */
#ifndef FG_SUMMARY_LANE_H
#define FG_SUMMARY_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Time counted for a function within a call whose start is not known; see summary_lane.c. */
struct fg_unrooted_time {
    uint32_t func;
    uint32_t depth;
    uint32_t below; /* 1 + index of this function's next entry down the stack, or 0 */
    uint64_t counted_ns;
};

/* Where the calls are in the merged call tree, by depth: tree_lane.h. */
struct fg_tree_place {
    uint32_t node;   /* of the call in progress */
    uint32_t branch; /* of the callees of a call here whose function is not known yet; 0: none */
};

struct fg_tree_lane {
    struct fg_tree_place *places;
    size_t capacity;
    uint32_t nr_branches; /* 1 + the depth of the deepest branch */
};

struct fg_summary_lane {
    uint32_t *running; /* by function: calls in progress */

    struct fg_unrooted_time *unrooted; /* a stack: depths never fall from bottom to top */
    uint32_t nr_unrooted;
    size_t unrooted_capacity;
    uint32_t *unrooted_top; /* by function: 1 + index of its topmost entry, or 0 */

    struct fg_tree_lane tree;
};

/* Return: NULL if memory is short. */
struct fg_summary_lane *fg_summary_lane_new(uint32_t nr_functions);
void fg_summary_lane_free(struct fg_summary_lane *lane); /* NULL is let through */

/* Moves the times that lie deeper than `depth` to `depth`, as those of callees of a call there. Return:
 * the time counted for `func`, which is not moved. */
uint64_t fg_lane_settle_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func);
/* Adds time counted for a function at `depth`, after times were settled to that depth. False: memory is
 * short. */
bool fg_lane_add_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func, uint64_t counted_ns,
                          uint32_t nr_functions);
/* Drops the times at `depth` and deeper: no call around them is unknown. */
void fg_lane_drop_unrooted(struct fg_summary_lane *lane, uint32_t depth);

#endif
