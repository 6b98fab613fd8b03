/* A merged call tree as arrays, one for each property of its nodes. */
#ifndef FG_TREE_COLUMNS_H
#define FG_TREE_COLUMNS_H

#include <stddef.h>

#include "tracedata/view/call_tree.h"

#define FG_TREE_NO_PARENT UINT32_MAX

/* X(name, type, format of Python's struct module, meaning). One item for each node; after a node come all
 * that are below it. */
#define FG_TREE_COLUMNS(X)                                                                                   \
    X(parent, uint32_t, "I", "place of the caller's node; FG_TREE_NO_PARENT: a root")                        \
    X(func, uint32_t, "I", "index of the function; of a root: its group")                                    \
    X(calls, uint64_t, "Q", "how many began here")                                                           \
    X(resumes, uint64_t, "Q", "how often suspended calls went on here")                                      \
    X(exceptions, uint64_t, "Q", "how many an exception ended here")                                         \
    X(total_ns, uint64_t, "Q", "time, with callees")                                                         \
    X(self_ns, uint64_t, "Q", "time without traced callees")

struct fg_tree_columns {
    size_t n;
#define X(name, type, format, text) type *name;
    FG_TREE_COLUMNS(X)
#undef X
};

/* Nodes without figures and callees are left out: a suspended call that was closed leaves one. Return: 0 or
 * -ENOMEM. The columns must be freed in any case. */
int fg_tree_columns_fill(struct fg_tree_columns *columns, const struct fg_call_tree *tree);
void fg_tree_columns_free(struct fg_tree_columns *columns);

#endif
