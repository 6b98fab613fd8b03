/* See marks.h. */
#include "engine/graph/marks.h"

#include "engine/core/regs.h"
#include "engine/graph/data.h"
#include "engine/graph/user_list.h"

static bool is_in_threads(const struct fgraph_ops *ops, int tid)
{
    /* acquire: pairs with the store in users.c */
    const struct fg_tids *tids = atomic_load_explicit(&fg_user_of_const(ops)->tids, memory_order_acquire);

    return !tids || fg_tids_has(tids, tid);
}

/* True if the user is attached to the C function's caller. Inside the guard, so that the caller's list
 * cannot be freed. */
static bool is_of_caller(const struct fgraph_ops *ops, const struct ftrace_regs *regs)
{
    struct fg_func *caller = fg_regs_calling_func(regs);

    /* acquire: pairs with the publishing store in user_list.c */
    return caller &&
           fg_user_list_find(atomic_load_explicit(&caller->users, memory_order_acquire), ops) != NULL;
}

/* True if the interpreter made the call to handle a signal. The frame keeps a positive answer, for the
 * other users and for the return. */
static bool note_irq(const struct ftrace_graph_ent *trace, const struct ftrace_regs *regs)
{
    const struct fg_arch_ops *arch = trace->func->domain->arch;

    if (!fg_frame_is_irq(trace->frame) && arch->is_irq && arch->is_irq(regs))
        trace->frame[FRAME_DESCRIPTOR] |= FG_FRAME_IRQ;
    return fg_frame_is_irq(trace->frame);
}

/* True if the user sees neither the call nor what it calls. */
static bool is_hiding(const struct ftrace_graph_ent *trace, const struct ftrace_regs *regs, uint32_t flags)
{
    bool is_irq = (flags & FG_USER_IRQ) && note_irq(trace, regs);

    return (flags & FG_USER_GRAPH_HIDES) || (is_irq && (flags & FG_USER_IRQ_HIDES));
}

static enum fg_verdict mark(const struct ftrace_graph_ent *trace, uint32_t idx, enum fg_data_kind kind,
                            uint16_t *count)
{
    if (!fg_data_push(trace->task, trace->frame, idx, kind, 0))
        return FG_VERDICT_REFUSE;
    ++*count;
    return FG_VERDICT_MARK;
}

/* True if the user sees no calls in this thread, from this caller, or below the frames that hide them. */
static bool is_refused(const struct fg_task *task, const struct fgraph_ops *ops,
                       const struct ftrace_regs *regs, uint32_t idx, uint32_t flags)
{
    return ((flags & FG_USER_TIDS) && !is_in_threads(ops, task->tid)) ||
           ((flags & FG_USER_CALLER) && !is_of_caller(ops, regs)) || task->users[idx].hiding;
}

static bool is_inside(const struct fg_task_user *user)
{
    return user->depth || user->rooted; /* own frames exist only below roots */
}

static bool is_outside(const struct fg_task_user *user, uint32_t flags)
{
    return (flags & FG_USER_GRAPH_ONLY) && !(flags & FG_USER_GRAPH_ROOT) && !is_inside(user);
}

bool fg_marks_may_call(const struct fg_task *task, const struct fgraph_ops *ops,
                       const struct ftrace_regs *regs, uint32_t idx, uint32_t flags)
{
    return !(flags & (FG_USER_GRAPH_HIDES | FG_USER_SILENT)) && !is_refused(task, ops, regs, idx, flags) &&
           !is_outside(&task->users[idx], flags);
}

FG_NOINLINE enum fg_verdict fg_marks_check(const struct ftrace_graph_ent *trace, const struct fgraph_ops *ops,
                                           const struct ftrace_regs *regs, uint32_t idx, uint32_t flags)
{
    struct fg_task_user *user = &trace->task->users[idx];

    if (is_refused(trace->task, ops, regs, idx, flags))
        return FG_VERDICT_REFUSE;
    if (is_hiding(trace, regs, flags))
        return mark(trace, idx, FG_DATA_HIDES, &user->hiding);
    if (is_outside(user, flags))
        return FG_VERDICT_REFUSE;
    if (!(flags & FG_USER_SILENT))
        return FG_VERDICT_CALL;
    return is_inside(user) ? FG_VERDICT_REFUSE : mark(trace, idx, FG_DATA_ROOT, &user->rooted);
}

static bool count_mark(struct fg_task *task, uint32_t idx, int by)
{
    struct fg_task_user *user = &task->users[idx];

    if (fg_data_find(task->top, idx, FG_DATA_HIDES, NULL))
        user->hiding = (uint16_t)(user->hiding + by);
    else if (fg_data_find(task->top, idx, FG_DATA_ROOT, NULL))
        user->rooted = (uint16_t)(user->rooted + by);
    else
        return false;
    return true;
}

FG_NOINLINE bool fg_marks_begin(struct fg_task *task, uint32_t idx)
{
    return count_mark(task, idx, 1);
}

FG_NOINLINE bool fg_marks_end(struct fg_task *task, uint32_t idx)
{
    return count_mark(task, idx, -1);
}
