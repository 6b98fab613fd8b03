/* See suspended.h. While a call is suspended its frame is parked (parked.c). */
#include "engine/graph/suspended.h"

#include "engine/base/clock.h"
#include "engine/graph/call.h"
#include "engine/graph/contexts.h"
#include "engine/graph/data.h"
#include "engine/graph/end.h"
#include "engine/graph/marks.h"
#include "engine/graph/parked.h"
#include "engine/graph/resume.h"

/* Calls the suspend functions of the users that are still registered. False: all of them have left. */
static bool suspend_users(struct fg_task *task, uint64_t *frame, uint64_t now, struct ftrace_regs *regs)
{
    bool has_users = false;
    struct ftrace_graph_ret trace = fg_ret_of(task, frame, now, FG_END_RETURN);

    for (uint64_t left = frame[FRAME_BITMAP]; left; left &= left - 1) {
        uint32_t idx = (uint32_t)__builtin_ctzll(left);
        struct fgraph_ops *ops = fg_frame_user(frame, idx);

        has_users |= ops != NULL;
        if (!ops || fg_marks_end(task, idx))
            continue;
        trace.depth = --task->users[idx].depth;
        if (ops->suspendfunc)
            ops->suspendfunc(&trace, ops, regs);
    }
    return has_users;
}

/* Moves the newest frame from the stack to the table of parked frames. */
static void park(struct fg_task *task, uintptr_t fp, uint64_t *frame)
{
    frame[FRAME_DESCRIPTOR] &= ~(uint64_t)(FG_FRAME_PLAIN | FG_FRAME_INNER);
    if (fg_parked_put(fp, frame, (size_t)(task->top - frame))) {
        task->top = frame;
    } else {
        fg_count_overrun(task);
        fg_pop_frame(task, frame);
    }
}

FG_COLD static void suspend_in_callback(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    uint64_t *top = task->top;

    if (!fg_context_enter_handler_of(task, fp))
        return;
    fg_suspend(task, fp, regs);
    fg_context_leave_handler(task, top);
}

void fg_suspend(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    uint64_t now = fg_clock_now();
    uint64_t *frame;

    if (fg_unlikely(!fg_guard_enter(task))) {
        suspend_in_callback(task, fp, regs);
        return;
    }
    frame = fg_top_frame_of(task, fp, now);
    if (frame) {
        if (suspend_users(task, frame, now, regs))
            park(task, fp, frame);
        else
            fg_pop_frame(task, frame); /* all its users have left meanwhile */
    }
    fg_guard_leave(task);
}

/* Moves a parked frame onto the stack, if there is one, and passes the frame to @then. False: the guard is
 * held. */
static inline bool unpark_and(void (*then)(struct fg_task *task, uint64_t *frame, struct ftrace_regs *regs),
                              struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    uint64_t *frame;

    if (fg_unlikely(!fg_guard_enter(task)))
        return false;
    frame = fg_is_killed() ? NULL : fg_unpark(task, fp);
    if (frame)
        then(task, frame, regs);
    fg_guard_leave(task);
    return true;
}

FG_COLD static void resume_in_callback(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    uint64_t *top = task->top;

    if (!fg_context_enter_handler(task, regs))
        return;
    unpark_and(fg_resume_users, task, fp, regs);
    fg_context_leave_handler(task, top);
}

void fg_resume(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    if (fg_unlikely(!unpark_and(fg_resume_users, task, fp, regs)))
        resume_in_callback(task, fp, regs);
}

/* The users of a frame that was just unparked see a resume, then a return. */
static void end_unparked(struct fg_task *task, uint64_t *frame, struct ftrace_regs *regs)
{
    fg_resume_users(task, frame, regs);
    fg_end_frame(task, frame, frame[FRAME_CALLTIME], regs, FG_END_CLOSE);
}

FG_NOINLINE void fg_abandon(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs)
{
    unpark_and(end_unparked, task, fp, regs);
}

/* True if the parked frame is one of function @func. */
static bool is_parked_of(const struct fg_parked *parked, void *func)
{
    return parked->words[FRAME_FUNC] == (uint64_t)(uintptr_t)func;
}

/* Ends a suspended call for good. Its users see the end only if this thread is outside callbacks. */
static void end_parked(struct fg_task *task, struct fg_parked *parked)
{
    struct ftrace_regs nothing = {0};
    uint64_t *frame;

    if (!fg_guard_enter(task)) {
        fg_lose_parked(task, parked);
        return;
    }
    frame = fg_is_killed() ? NULL : fg_push_parked(task, parked);
    if (frame)
        end_unparked(task, frame, &nothing);
    else
        fg_lose_parked(task, parked);
    fg_guard_leave(task);
}

void fg_abandon_function(struct fg_func *func)
{
    struct fg_task *task = fg_task_current();
    struct fg_parked *parked;

    while (fg_parked_count() && (parked = fg_parked_take_if(is_parked_of, func))) {
        if (task)
            end_parked(task, parked);
        fg_parked_free(parked);
    }
}
