/* Calling the handlers of fprobes: the functions of the graph's user that all fprobes of a scope share.
 *
 * For each fprobe that wants the return, the entry puts a piece of data on the frame:
 *
 *     | word of the registration | cookie, if it has one | entry data | descriptor (frame.h) |
 */
#ifndef FG_FPROBE_CALL_H
#define FG_FPROBE_CALL_H

#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/task.h"

/* The shared user's entryfunc, retfunc and missedfunc. Inside the guard. */
int fg_fprobes_enter(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_leave(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_missed(struct fg_func *func, struct fgraph_ops *ops);

/* The fast path of a call of a function that has one fprobe and no other user. An arch tries it
 * first if the function is fg_func_probed(), and at the return while fg_top_is_probed(). False:
 * nothing was done. */
bool fg_enter_probed(struct fg_task *task, struct fg_func *func, uintptr_t fp, uintptr_t ret_ip,
                     struct ftrace_regs *regs);
bool fg_top_is_probed(const struct fg_task *task);
bool fg_return_probed(struct fg_task *task, uintptr_t fp, uintptr_t ret_ip, struct ftrace_regs *regs);

#endif
