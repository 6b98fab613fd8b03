/* From the engine into the Python functions of an FgraphOps, and back. */
#ifndef FG_BINDING_OPS_CALL_H
#define FG_BINDING_OPS_CALL_H

#include "binding/graph/python_ops.h"

/* The entryfunc and retfunc of an FgraphOps whose functions are Python's. */
int fg_call_entryfunc(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);

/**
 * fg_ops_mute - make sure that no function of a registered user is called again
 *
 * Functions that run already go on. Under the engine's lock: calls nothing of Python's.
 */
void fg_ops_mute(struct fg_python_ops *self);

#endif
