/* One task's calls while a summary walks over them: those in progress, by depth, and what decides which
 * calls are outermost. Private to summary.c and summary_lane.c. */
#ifndef FG_SUMMARY_LANE_H
#define FG_SUMMARY_LANE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A call in progress. The place of a call that began unseen exists too, with is_open false: its callees'
 * times are collected there all the same. */
struct fg_open_call {
    uint32_t func;
    bool is_open;
    bool is_rooted;  /* every call further out is known */
    bool is_resumed; /* it began before the part that runs now */
    uint64_t began_ns;
    uint64_t waited_ns; /* the lane's wait_ns then */
    uint64_t callees_ns;
};

/* Time counted for a function inside a call that began unseen. See summary_lane.c. */
struct fg_unrooted_time {
    uint32_t func;
    uint32_t depth;
    uint32_t below; /* 1 + index of this function's entry further down, or 0 */
    uint64_t counted_ns;
};

struct fg_summary_lane {
    struct fg_open_call *calls; /* by depth */
    size_t capacity;
    uint32_t depth; /* no call is open at or beyond it */
    uint32_t task;
    uint64_t last_ns;  /* the task's latest event */
    uint64_t wait_ns;  /* what the task has waited for the recorder */
    uint32_t *running; /* by function: calls in progress */

    struct fg_unrooted_time *unrooted; /* depths never fall from bottom to top */
    uint32_t nr_unrooted;
    size_t unrooted_capacity;
    uint32_t *unrooted_top; /* by function: 1 + index of its topmost entry, or 0 */
};

void fg_summary_lane_free(struct fg_summary_lane *lane);
/* Makes calls[depth] exist. */
bool fg_summary_lane_reserve(struct fg_summary_lane *lane, uint32_t depth, uint32_t nr_functions);

/* Moves what lies deeper than `depth` to `depth`, as the callees of a call there. Returns what of it was
 * counted for `func`, which is left out. */
uint64_t fg_lane_settle_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func);
/* Adds time counted for a function at `depth`, after a settle to that depth. False if there is no memory. */
bool fg_lane_add_unrooted(struct fg_summary_lane *lane, uint32_t depth, uint32_t func, uint64_t counted_ns,
                          uint32_t nr_functions);
/* Forgets what lies at `depth` and deeper: nothing unknown encloses it any more. */
void fg_lane_drop_unrooted(struct fg_summary_lane *lane, uint32_t depth);

#endif
