/* Calls that a signal handler makes in the middle of a callback.
 *
 * The guard is per thread and context, as the kernel's recursion bits are. An interpreter runs handlers of
 * signals between two instructions of the program, and a callback may be what it runs. The callback does
 * not make the handler's calls: they are traced, by the same users, in a context of their own. What
 * callbacks of these calls make is missed, as ever.
 *
 * The thread enters the context for one step at a time, so no end of a handler can be overlooked. The
 * frames of such calls lie above that of the interrupted callback, and are marked (FG_FRAME_INNER). */
#ifndef FG_CONTEXTS_H
#define FG_CONTEXTS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/regs.h"
#include "engine/core/task.h"

/**
 * fg_context_enter_handler() - Begin a step of a call for which the guard is held.
 * @task: the current task
 * @regs: what the hook saw; NULL: nothing more than that the thread is there
 *
 * Return: true: a handler that interrupted a callback makes the call. Until fg_context_leave_handler() the
 *     guard can be entered. False: a callback makes it, or a handler in the middle of a handler's callback.
 */
bool fg_context_enter_handler(struct fg_task *task, const struct ftrace_regs *regs);
/* As fg_context_enter_handler(), for a step at the end of a call that has a frame. */
bool fg_context_enter_handler_of(struct fg_task *task, uintptr_t fp);

/* Ends the step. @top: the task's top when it began; a frame that was pushed since is marked. */
void fg_context_leave_handler(struct fg_task *task, uint64_t *top);

#endif
