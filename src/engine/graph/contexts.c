/* See contexts.h. */
#include "engine/graph/contexts.h"

#include "engine/core/root.h"
#include "engine/graph/frame.h"

/* True if a callback that an interpreter's handler may interrupt runs, and no handler's callback does. */
static bool can_enter_handler(struct fg_task *task)
{
    return task->context == FG_CONTEXT_NORMAL && !(fg_task_guard(task) & FG_CONTEXT_HANDLER);
}

bool fg_context_enter_handler(struct fg_task *task, const struct ftrace_regs *regs)
{
    bool (*is_in_handler)(const struct ftrace_regs *regs) = fg_process()->is_in_handler;

    if (!can_enter_handler(task) || !is_in_handler || !is_in_handler(regs))
        return false;
    task->context = FG_CONTEXT_HANDLER;
    return true;
}

static bool has_inner_frame(const struct fg_task *task, uintptr_t fp)
{
    uint64_t *top = task->top, *frame;

    for (; top > task->stack; top = frame) {
        frame = fg_newest_frame(task, top);
        if (!frame || !(frame[FRAME_DESCRIPTOR] & FG_FRAME_INNER))
            return false;
        if (frame[FRAME_FP] == fp)
            return true;
    }
    return false;
}

bool fg_context_enter_handler_of(struct fg_task *task, uintptr_t fp)
{
    if (!can_enter_handler(task) || !has_inner_frame(task, fp))
        return false;
    task->context = FG_CONTEXT_HANDLER;
    return true;
}

void fg_context_leave_handler(struct fg_task *task, uint64_t *top)
{
    task->context = FG_CONTEXT_NORMAL;
    if (task->top > top)
        top[FRAME_DESCRIPTOR] |= FG_FRAME_INNER;
}
