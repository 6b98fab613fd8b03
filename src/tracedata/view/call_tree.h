/* A merged call tree: a node for each path of functions that calls took, with the figures of all its calls.
 *
 *     main -> load -> parse        calls 3, total 40, self 40
 *     main -> parse                calls 1, total 9, self 9
 *
 * Its memory grows with the number of different paths, not with the number of calls. A summary fills it:
 * summary_figures.h defines the figures. */
#ifndef FG_CALL_TREE_H
#define FG_CALL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/base/hash_table.h"

/* One cache line. Nodes are named by their index; 0 is none. */
struct fg_call_node {
    uint32_t parent; /* 0: a root */
    uint32_t func;   /* of a root: the number of its group */
    uint32_t first_child, next_sibling;
    uint32_t latest_child; /* what was looked up last: most lookups repeat it */
    uint64_t calls, resumes, exceptions;
    uint64_t total_ns; /* of all stretches of these calls, with their callees */
    uint64_t self_ns;
};

struct fg_call_tree {
    struct fg_call_node *nodes;
    uint32_t nr_nodes; /* [0] is counted */
    size_t capacity;
    uint32_t free_nodes;           /* linked by next_sibling */
    uint32_t first_root;           /* linked by next_sibling */
    struct fg_hash_table children; /* by parent and function */
};

/* Return: NULL if memory is short. */
struct fg_call_tree *fg_call_tree_new(void);
void fg_call_tree_free(struct fg_call_tree *tree); /* NULL is let through */

/* The root of a group, which is made if need be. Return: 0 if memory is short, as below. */
uint32_t fg_call_tree_root(struct fg_call_tree *tree, uint32_t group);

/* A node that is in no group yet: for calls whose caller is still to be learned. */
uint32_t fg_call_tree_new_branch(struct fg_call_tree *tree);

/* The slow path of fg_call_tree_child(). */
uint32_t fg_call_tree_look_up(struct fg_call_tree *tree, uint32_t parent, uint32_t func);

/* The child of a node, which is made if need be. Nodes may move then. */
static inline uint32_t fg_call_tree_child(struct fg_call_tree *tree, uint32_t parent, uint32_t func)
{
    uint32_t latest = tree->nodes[parent].latest_child;

    if (fg_likely(latest && tree->nodes[latest].func == func))
        return latest;
    return fg_call_tree_look_up(tree, parent, func);
}

/* Moves what is under @branch to `into`, where equal paths become one, and frees @branch. */
void fg_call_tree_graft(struct fg_call_tree *tree, uint32_t branch, uint32_t into);

/* The node after `node`, in an order in which all nodes below one come next after it; 0 at the end. Begins at
 * @node 0. */
uint32_t fg_call_tree_next(const struct fg_call_tree *tree, uint32_t node);

#endif
