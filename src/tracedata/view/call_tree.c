/* See call_tree.h. */
#include "tracedata/view/call_tree.h"

#include <stdlib.h>

#include "engine/base/array.h"

/* One-to-one. */
static uint64_t hash_of(uint32_t parent, uint32_t func)
{
    return fg_hash_uint64((uint64_t)parent << 32 | func);
}

struct fg_call_tree *fg_call_tree_new(void)
{
    struct fg_call_tree *tree = calloc(1, sizeof(*tree));

    if (!tree || fg_array_reserve(&tree->nodes, &tree->capacity, 1) < 0) {
        free(tree);
        return NULL;
    }
    tree->nodes[0] = (struct fg_call_node){0};
    tree->nr_nodes = 1;
    return tree;
}

void fg_call_tree_free(struct fg_call_tree *tree)
{
    if (!tree)
        return;
    free(tree->nodes);
    fg_hash_clear(&tree->children);
    free(tree);
}

static uint32_t new_node(struct fg_call_tree *tree, uint32_t parent, uint32_t func)
{
    uint32_t node = tree->free_nodes;

    if (node) {
        tree->free_nodes = tree->nodes[node].next_sibling;
    } else {
        if (tree->nr_nodes == UINT32_MAX ||
            fg_array_reserve(&tree->nodes, &tree->capacity, tree->nr_nodes + (size_t)1) < 0)
            return 0;
        node = tree->nr_nodes++;
    }
    tree->nodes[node] = (struct fg_call_node){.parent = parent, .func = func};
    return node;
}

static void free_node(struct fg_call_tree *tree, uint32_t node)
{
    tree->nodes[node].next_sibling = tree->free_nodes;
    tree->free_nodes = node;
}

/* Makes `node` a child of `parent`; there is room in the hash table. */
static void link_child(struct fg_call_tree *tree, uint32_t parent, uint32_t node)
{
    uint32_t *first = parent ? &tree->nodes[parent].first_child : &tree->first_root;

    tree->nodes[node].parent = parent;
    tree->nodes[node].next_sibling = *first;
    *first = node;
    fg_hash_add(&tree->children, hash_of(parent, tree->nodes[node].func), node);
}

static uint32_t find_or_make(struct fg_call_tree *tree, uint32_t parent, uint32_t func)
{
    uint32_t node = (uint32_t)fg_hash_find(&tree->children, hash_of(parent, func));

    if (node)
        return node;
    if (fg_hash_reserve(&tree->children) < 0)
        return 0;
    node = new_node(tree, parent, func);
    if (node)
        link_child(tree, parent, node);
    return node;
}

uint32_t fg_call_tree_root(struct fg_call_tree *tree, uint32_t group)
{
    return find_or_make(tree, 0, group);
}

uint32_t fg_call_tree_new_branch(struct fg_call_tree *tree)
{
    return new_node(tree, 0, 0);
}

uint32_t fg_call_tree_look_up(struct fg_call_tree *tree, uint32_t parent, uint32_t func)
{
    uint32_t node = find_or_make(tree, parent, func);

    tree->nodes[parent].latest_child = node;
    return node;
}

static void add_figures(struct fg_call_node *to, const struct fg_call_node *from)
{
    to->calls += from->calls;
    to->resumes += from->resumes;
    to->exceptions += from->exceptions;
    to->total_ns += from->total_ns;
    to->self_ns += from->self_ns;
}

/* Moves a child of `branch` to `into`, with all that is under it. If `into` has a child of that function, the
 * figures go there. The child is then put on the list of branches whose own children still have to move. */
static uint32_t move_child(struct fg_call_tree *tree, uint32_t branch, uint32_t child, uint32_t into,
                           uint32_t branches)
{
    struct fg_call_node *node = &tree->nodes[child];
    uint32_t there = (uint32_t)fg_hash_find(&tree->children, hash_of(into, node->func));

    fg_hash_remove(&tree->children, fg_hash_first(&tree->children, hash_of(branch, node->func)));
    if (!there) {
        link_child(tree, into, child); /* in the room of what was removed */
        return branches;
    }
    add_figures(&tree->nodes[there], node);
    node->parent = there;
    node->next_sibling = branches;
    return child;
}

/* A list in place of recursion: paths are as long as the program's stack was deep. */
void fg_call_tree_graft(struct fg_call_tree *tree, uint32_t branch, uint32_t into)
{
    uint32_t branches = branch;

    tree->nodes[branch].parent = into;
    tree->nodes[branch].next_sibling = 0;
    while (branches) {
        uint32_t from = branches, child = tree->nodes[from].first_child;

        branches = tree->nodes[from].next_sibling;
        while (child) {
            uint32_t next = tree->nodes[child].next_sibling;

            branches = move_child(tree, from, child, tree->nodes[from].parent, branches);
            child = next;
        }
        free_node(tree, from);
    }
}

uint32_t fg_call_tree_next(const struct fg_call_tree *tree, uint32_t node)
{
    if (!node)
        return tree->first_root;
    if (tree->nodes[node].first_child)
        return tree->nodes[node].first_child;
    while (node && !tree->nodes[node].next_sibling)
        node = tree->nodes[node].parent;
    return node ? tree->nodes[node].next_sibling : 0;
}
