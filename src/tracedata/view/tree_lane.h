/* Where the calls of a summary's lane are in the merged call tree.
 *
 * A call's node is the child of its caller's. If the caller's entry was lost, or is not recorded (a threshold
 * leaves only exits), the caller is learned at its exit, after its callees have ended. Until then their
 * subtree is a branch of its own, kept by the depth of the caller:
 *
 *     depth 2:  g, g                       a branch at depth 1: g
 *     depth 1:  f            <- its exit   the branch is grafted to f, and f is in a branch at depth 0
 *     depth 0:  main         <- its exit   main -> f -> g
 *
 * A branch whose caller's exit is lost too goes to the nearest call around it that is known. */
#ifndef FG_TREE_LANE_H
#define FG_TREE_LANE_H

#include "tracedata/view/call_tree.h"
#include "tracedata/view/summary_lane.h"

/* Grafts the branches at `depth` and deeper to a node. */
void fg_tree_settle(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t depth, uint32_t node);

/* A call of `func` begins, or is resumed, at `depth`; those at `depth` and deeper have ended.
 * @is_below_known: the call one level up is known. Return: 0 or -ENOMEM, as below. */
int fg_tree_begin(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t root, uint32_t depth,
                  bool is_below_known, uint32_t func);

/* A call of `func` at `depth` ends whose beginning is not known: all branches at `depth` and deeper are
 * its callees'. */
int fg_tree_begin_late(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t root, uint32_t depth,
                       bool is_below_known, uint32_t func);

/* The call that is in progress at `depth` ends. */
static inline void fg_tree_end(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t depth)
{
    if (fg_unlikely(lane->nr_branches > depth + (size_t)1))
        fg_tree_settle(tree, lane, depth + 1, lane->places[depth].node);
}

#endif
