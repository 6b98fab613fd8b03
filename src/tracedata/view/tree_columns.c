/* See tree_columns.h. */
#include "tracedata/view/tree_columns.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static int allocate(struct fg_tree_columns *columns, size_t n)
{
    bool failed = false;

    *columns = (struct fg_tree_columns){0};
#define X(name, type, format, text) failed |= !(columns->name = calloc(n + 1, sizeof(type)));
    FG_TREE_COLUMNS(X)
#undef X
    return failed ? -ENOMEM : 0;
}

void fg_tree_columns_free(struct fg_tree_columns *columns)
{
#define X(name, type, format, text) free(columns->name);
    FG_TREE_COLUMNS(X)
#undef X
    *columns = (struct fg_tree_columns){0};
}

static bool is_empty(const struct fg_call_node *node)
{
    return node->parent && !node->first_child && !node->calls && !node->resumes && !node->exceptions &&
           !node->total_ns;
}

int fg_tree_columns_fill(struct fg_tree_columns *columns, const struct fg_call_tree *tree)
{
    uint32_t *places = calloc(tree->nr_nodes, sizeof(*places));
    int error = allocate(columns, tree->nr_nodes);

    if (!places)
        error = -ENOMEM;
    for (uint32_t i = 0; !error && (i = fg_call_tree_next(tree, i));) {
        const struct fg_call_node *node = &tree->nodes[i];
        size_t place = columns->n;

        if (is_empty(node))
            continue;
        places[i] = (uint32_t)place;
        columns->parent[place] = node->parent ? places[node->parent] : FG_TREE_NO_PARENT;
        columns->func[place] = node->func;
        columns->calls[place] = node->calls;
        columns->resumes[place] = node->resumes;
        columns->exceptions[place] = node->exceptions;
        columns->total_ns[place] = node->total_ns;
        columns->self_ns[place] = node->self_ns;
        columns->n++;
    }
    free(places);
    return error;
}
