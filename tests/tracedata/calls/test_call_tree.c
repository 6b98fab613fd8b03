/* Promises: nodes are as many as there are different paths, however often branches come and go, and
 * grafting a branch makes one of equal paths. A random tree that is put together of branches is the one
 * that grew in one piece. */
#undef NDEBUG
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "support/spool_bytes.h"
#include "tracedata/view/call_tree.h"
#include "tracedata/view/tree_columns.h"

#define ROUNDS 300
#define PATHS 60u
#define DEPTH 6u
#define FUNCTIONS 3u
#define LONG_PATH 1000000u

static uint32_t add_path(struct fg_call_tree *tree, uint32_t at, const uint32_t *functions, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        at = fg_call_tree_child(tree, at, functions[i]);
        assert(at);
        tree->nodes[at].total_ns += i + 1;
    }
    tree->nodes[at].calls++;
    return at;
}

static uint32_t nr_free(const struct fg_call_tree *tree)
{
    uint32_t n = 0;

    for (uint32_t i = tree->free_nodes; i; i = tree->nodes[i].next_sibling)
        n++;
    return n;
}

/* Looks for each node of one tree in the other. */
static void assert_equal(const struct fg_call_tree *tree, struct fg_call_tree *other)
{
    uint32_t *there = calloc(tree->nr_nodes, sizeof(*there)), n = 0;

    assert(there);
    for (uint32_t i = 0; (i = fg_call_tree_next(tree, i)); n++) {
        const struct fg_call_node *node = &tree->nodes[i];
        uint32_t before = other->nr_nodes;

        there[i] = node->parent ? fg_call_tree_child(other, there[node->parent], node->func)
                                : fg_call_tree_root(other, node->func);
        assert(other->nr_nodes == before && other->nodes[there[i]].calls == node->calls);
        assert(other->nodes[there[i]].total_ns == node->total_ns);
    }
    free(there);
    assert(n == tree->nr_nodes - 1 - nr_free(tree));
}

/* Half of the paths go through a branch, which is grafted to the node where its callees belong. */
static void test_random(void)
{
    struct fg_call_tree *whole = fg_call_tree_new(), *grafted = fg_call_tree_new();
    uint32_t roots[2] = {fg_call_tree_root(whole, 7), fg_call_tree_root(grafted, 7)};

    for (uint32_t i = 0; i < PATHS; i++) {
        uint32_t functions[DEPTH], depth = 1 + fg_test_chance() % DEPTH, at = fg_test_chance() % depth;

        for (uint32_t j = 0; j < depth; j++)
            functions[j] = fg_test_chance() % FUNCTIONS;
        add_path(whole, roots[0], functions, at);
        add_path(grafted, roots[1], functions, at);
        for (uint32_t j = 0; j < 1 + fg_test_chance() % 3; j++) {
            uint32_t branch = fg_call_tree_new_branch(grafted), into = roots[1], same = roots[0];

            for (uint32_t k = 0; k < at; k++) {
                into = fg_call_tree_child(grafted, into, functions[k]);
                same = fg_call_tree_child(whole, same, functions[k]);
            }
            assert(branch);
            add_path(grafted, branch, functions + at, depth - at);
            add_path(whole, same, functions + at, depth - at);
            grafted->nodes[branch].calls = 0; /* of a path without functions */
            whole->nodes[same].calls -= depth == at;
            fg_call_tree_graft(grafted, branch, into);
        }
    }
    assert_equal(whole, grafted);
    assert_equal(grafted, whole);
    fg_call_tree_free(whole);
    fg_call_tree_free(grafted);
}

static void test_nodes_are_bounded_by_paths(void)
{
    struct fg_call_tree *tree = fg_call_tree_new();
    uint32_t root = fg_call_tree_root(tree, 0), functions[] = {1, 2, 1}, nr_nodes = 0;

    for (int i = 0; i < ROUNDS; i++) {
        uint32_t branch = fg_call_tree_new_branch(tree);

        add_path(tree, branch, functions, 3);
        add_path(tree, branch, functions + 1, 2);
        fg_call_tree_graft(tree, branch, root);
        if (i == 1)
            nr_nodes = tree->nr_nodes;
    }
    assert(tree->nr_nodes == nr_nodes && tree->children.n == 6);
    fg_call_tree_free(tree);
}

/* Nothing is recursive. */
static void test_a_path_may_be_long(void)
{
    struct fg_call_tree *tree = fg_call_tree_new();
    uint32_t root = fg_call_tree_root(tree, 0), branch = fg_call_tree_new_branch(tree),
             ends[2] = {root, branch};
    struct fg_tree_columns columns;

    for (uint32_t i = 0; i < LONG_PATH; i++)
        for (int j = 0; j < 2; j++) {
            ends[j] = fg_call_tree_child(tree, ends[j], 5);
            tree->nodes[ends[j]].calls++;
        }
    fg_call_tree_graft(tree, branch, root);
    assert(fg_tree_columns_fill(&columns, tree) == 0);
    assert(columns.n == LONG_PATH + 1 && columns.calls[LONG_PATH] == 2 &&
           columns.parent[LONG_PATH] + 1 == LONG_PATH);
    fg_tree_columns_free(&columns);
    fg_call_tree_free(tree);
}

int main(void)
{
    for (int i = 0; i < ROUNDS; i++)
        test_random();
    test_nodes_are_bounded_by_paths();
    test_a_path_may_be_long();
    return 0;
}
