/* Calls that a signal handler makes in the middle of a callback, or of the engine's own work.
 *
 * The guard is per thread and context, as the kernel's recursion bits are. The callback does not make the
 * handler's calls: they are traced, by the same users, in a context of their own. What callbacks of these
 * calls make is missed, as ever; so is what a second handler of the same kind calls in them.
 *
 * An interpreter runs handlers between two instructions of the program, and a callback may be what it runs.
 * The thread enters their context for one step of a call at a time, so no end of a handler can be
 * overlooked. The frames of such calls lie above that of the interrupted callback, and are marked
 * (FG_FRAME_INNER).
 *
 * The kernel runs handlers at any instruction. Native code whose calls are traced there brackets them with
 * fg_signal_begin() and fg_signal_end(). Between these
 *
 *     - frames lie on a stack of their own if the thread was inside the guard (signal_stack.h);
 *     - a record takes no new sub-buffer. Without room in the present one, or if the thread was just writing
 *       a record (fg_task_hold), it is lost, and counted;
 *     - calls cannot be suspended or resumed, and users are called that allow for it: C functions. */
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

/* What fg_signal_begin() keeps, on the handler's stack. */
struct fg_signal_scope {
    struct fg_task *task; /* NULL: nothing was traced in this thread yet, and nothing is now */
    uint64_t context, guard;
    uint64_t *top, *stack, *floor, *end, *limit, *interrupted;
    uint64_t *base; /* the top when the handler began */
};

/**
 * fg_signal_begin() - A handler of a signal begins to make calls in this thread.
 *
 * In a handler that interrupts another one nothing changes: what it calls while a callback of the other one
 * runs is missed.
 */
void fg_signal_begin(struct fg_signal_scope *scope);
/* It makes no further calls. Those in progress end now, as closed. */
void fg_signal_end(const struct fg_signal_scope *scope);

#endif
