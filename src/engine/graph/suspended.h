/* Calls that are suspended and run again, as an arch reports them: generators and coroutines. In the
 * call's thread. */
#ifndef FG_SUSPENDED_H
#define FG_SUSPENDED_H

#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"

/* The call gives way: its frame leaves the stack, and waits. */
void fg_suspend(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* The call runs again, in whatever thread. */
void fg_resume(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* A suspended call ended without running again: its generator was closed or collected. Its users see a
 * resume and a return, as if CPython had reported both. Nothing happens if no such call is suspended. */
void fg_abandon(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs);
/* The same for all suspended calls of a function that is going away. */
void fg_abandon_function(struct fg_func *func);

#endif
