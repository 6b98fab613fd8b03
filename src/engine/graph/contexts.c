/* See contexts.h. */
#include "engine/graph/contexts.h"

#include "engine/base/clock.h"
#include "engine/core/root.h"
#include "engine/core/signal_stack.h"
#include "engine/graph/end.h"
#include "engine/graph/frame.h"

/* True if a callback that an interpreter's handler may interrupt runs, and no handler's callback does. */
static bool can_enter_handler(struct fg_task *task)
{
    return task->context == FG_CONTEXT_NORMAL && !fg_task_is_in_native(task) &&
           !(fg_task_guard(task) & FG_CONTEXT_HANDLER);
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

/* ---- handlers of signals, at any instruction
 *
 * A second signal may arrive between any two statements here. It saves the state that it finds, however half
 * changed, and restores just that. It takes the other stack for free while the context is not set: the
 * first handler has no frames there before it has set the context, and none any longer when it has
 * restored it. */

static uint64_t *exchange_limit(struct fg_task *task, uint64_t *limit)
{
    return atomic_exchange_explicit(&task->limit, limit, memory_order_relaxed);
}

/* Gives the task a stack in which it has no frames. Without memory it has no room either. */
static void take_other_stack(struct fg_task *task, struct fg_signal_scope *scope)
{
    struct fg_signal_stack *stack = task->signal_stack;

    task->interrupted = scope->top;
    task->stack = task->floor = task->top = stack ? stack->words : scope->top;
    task->end = stack ? fg_signal_stack_end(stack) : scope->top;
    scope->limit = exchange_limit(task, task->end);
}

static void give_stack_back(struct fg_task *task, const struct fg_signal_scope *scope)
{
    task->top = scope->top;
    task->stack = scope->stack;
    task->floor = scope->floor;
    task->end = scope->end;
    /* Another thread may have asked this one to reap. It then asks the next entry. */
    if (!exchange_limit(task, scope->limit))
        fg_task_request_reap(task);
    task->interrupted = scope->interrupted;
}

void fg_signal_begin(struct fg_signal_scope *scope)
{
    struct fg_task *task = fg_task_self;

    *scope = (struct fg_signal_scope){.task = task};
    if (!task)
        return;
    scope->context = task->context;
    if (scope->context == FG_CONTEXT_SIGNAL)
        return;
    scope->guard = fg_task_guard(task);
    scope->top = task->top;
    scope->stack = task->stack;
    scope->floor = task->floor;
    scope->end = task->end;
    scope->interrupted = task->interrupted;
    if (!fg_signal_stack_make(&task->signal_stack) || (scope->guard & FG_CONTEXTS))
        take_other_stack(task, scope);
    scope->base = task->top;
    fg_local_set(&task->guard, FG_GUARD_SIGNAL);
    atomic_signal_fence(memory_order_seq_cst);
    task->context = FG_CONTEXT_SIGNAL;
    atomic_signal_fence(memory_order_seq_cst);
}

/* The handler's calls whose return was not reported. */
FG_COLD static void end_calls(struct fg_task *task, const uint64_t *base)
{
    struct ftrace_regs nothing = {0};
    uint64_t now = fg_clock_now(), *frame;

    if (!fg_guard_enter(task))
        return; /* a second handler: it interrupted the first one's callback, and has no frames */
    while (task->top > base && !fg_is_killed() && (frame = fg_newest_frame(task, task->top)))
        fg_end_frame(task, frame, now, &nothing, FG_END_CLOSE);
    fg_guard_leave(task);
}

void fg_signal_end(const struct fg_signal_scope *scope)
{
    struct fg_task *task = scope->task;

    if (!task || scope->context == FG_CONTEXT_SIGNAL)
        return;
    if (task->top > scope->base)
        end_calls(task, scope->base);
    atomic_signal_fence(memory_order_seq_cst);
    task->context = scope->context;
    atomic_signal_fence(memory_order_seq_cst);
    if (!(scope->guard & FG_GUARD_SIGNAL))
        fg_local_clear(&task->guard, FG_GUARD_SIGNAL);
    if (scope->base != scope->top || scope->end != task->end)
        give_stack_back(task, scope);
}
