/* The object behind FgraphOps. */
#ifndef FG_BINDING_PYTHON_OPS_H
#define FG_BINDING_PYTHON_OPS_H

#include "binding/core/client.h"
#include "binding/core/spare.h"
#include "engine/graph/user.h"

struct fg_python_ops {
    struct fg_client client;
    struct fgraph_ops ops;                     /* its name is the UTF-8 text of client.name */
    PyObject *patterns[FGRAPH_NR_FILTER_SETS]; /* tuples of str, as asked for, also while disabled */
    PyObject *tids;                            /* tuple of int, or None; the same */
    fg_spare ent, ret;                         /* GraphEnt and GraphRet, each with its FtraceRegs */
};

static inline struct fg_python_ops *fg_python_ops_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_python_ops, ops);
}

#endif
