/* Suspend and resume of generators and coroutines, as an arch reports them. All run in
 * the call's thread. */
#ifndef FG_SUSPENDED_H
#define FG_SUSPENDED_H

#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"

/* The call is suspended: its frame leaves the stack and is parked. */
void fg_suspend(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* The call is resumed, in this or another thread than the one that suspended it. */
void fg_resume(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* A suspended call ended without running again: its generator was closed or collected. Its users see a
 * resume and a return, as if CPython had reported both. Nothing happens if no such call is suspended. */
void fg_abandon(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* As fg_abandon(), for all suspended calls of a function that goes away. */
void fg_abandon_function(struct fg_func *func);

#endif
