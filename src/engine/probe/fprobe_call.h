/* Calling the handlers of fprobes: the functions of the graph's user that all fprobes of a domain share.
 *
 * For each fprobe that wants the return, the entry puts a piece of data on the frame:
 *
 *     | word of the registration | cookie, if it has one | entry data | descriptor (frame.h) |
 */
#ifndef FG_FPROBE_CALL_H
#define FG_FPROBE_CALL_H

#include "engine/graph/fgraph.h"

int fg_fprobes_enter(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_leave(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_missed(struct fg_func *func, struct fgraph_ops *ops);

#endif
