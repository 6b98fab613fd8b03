/* See tree_lane.h. */
#include "tracedata/view/tree_lane.h"

#include <errno.h>

#include "engine/base/array.h"

/* The branch of the callees of an unknown call at `depth`. */
static uint32_t branch_at(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t depth)
{
    struct fg_tree_place *place = &lane->places[depth];

    if (!place->branch) {
        place->branch = fg_call_tree_new_branch(tree);
        if (place->branch && lane->nr_branches <= depth)
            lane->nr_branches = depth + 1;
    }
    return place->branch;
}

/* The node under which a call at `depth` is. Return: 0 if memory is short. */
static uint32_t parent_at(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t root, uint32_t depth,
                          bool is_below_known)
{
    if (depth == 0)
        return root;
    return fg_likely(is_below_known) ? lane->places[depth - 1].node : branch_at(tree, lane, depth - 1);
}

void fg_tree_settle(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t depth, uint32_t node)
{
    for (; lane->nr_branches > depth; lane->nr_branches--) {
        struct fg_tree_place *place = &lane->places[lane->nr_branches - 1];

        if (place->branch)
            fg_call_tree_graft(tree, place->branch, node);
        place->branch = 0;
    }
    while (lane->nr_branches && !lane->places[lane->nr_branches - 1].branch)
        lane->nr_branches--;
}

/* Puts the call at `depth` to its node, as a child of `parent`. */
static int place_call(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t depth, uint32_t parent,
                      uint32_t func)
{
    uint32_t node = parent ? fg_call_tree_child(tree, parent, func) : 0;

    lane->places[depth].node = node;
    return node ? 0 : -ENOMEM;
}

int fg_tree_begin(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t root, uint32_t depth,
                  bool is_below_known, uint32_t func)
{
    uint32_t parent;

    if (fg_array_reserve_zeroed(&lane->places, &lane->capacity, depth + (size_t)1) < 0)
        return -ENOMEM;
    parent = parent_at(tree, lane, root, depth, is_below_known);
    if (fg_unlikely(lane->nr_branches > depth && parent))
        fg_tree_settle(tree, lane, depth, parent);
    return place_call(tree, lane, depth, parent, func);
}

int fg_tree_begin_late(struct fg_call_tree *tree, struct fg_tree_lane *lane, uint32_t root, uint32_t depth,
                       bool is_below_known, uint32_t func)
{
    int error;

    if (fg_array_reserve_zeroed(&lane->places, &lane->capacity, depth + (size_t)1) < 0)
        return -ENOMEM;
    error = place_call(tree, lane, depth, parent_at(tree, lane, root, depth, is_below_known), func);
    if (!error)
        fg_tree_settle(tree, lane, depth, lane->places[depth].node);
    return error;
}
