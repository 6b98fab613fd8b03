/* Which calls a user sees, where the function alone does not decide: by thread, and by the calls around
 * it ("this function and what it calls", "neither this function nor what it calls").
 *
 * A frame that only begins or hides what the user sees is not the user's own. It is marked for
 * the user (data of 0 words), so that its end is noticed, in whatever thread and however late.
 * Inside the guard. */
#ifndef FG_MARKS_H
#define FG_MARKS_H

#include "engine/graph/frame.h"

enum fg_verdict {
    FG_VERDICT_CALL,   /* call the user */
    FG_VERDICT_REFUSE, /* the user does not see the call */
    FG_VERDICT_MARK,   /* not seen, but the frame is marked for the user and must stay */
};

/**
 * fg_marks_check() - Decide whether a user sees a call that begins.
 * @trace: the call
 * @ops: the user, or the stub in its place
 * @regs: what the hook saw
 * @idx: the user's slot, from the function's list
 * @flags: what to check (FG_USER_*), from the function's list
 */
enum fg_verdict fg_marks_check(const struct ftrace_graph_ent *trace, const struct fgraph_ops *ops,
                               const struct ftrace_regs *regs, uint32_t idx, uint32_t flags);

/* False: the user does not see a call that is about to begin. Has no effect, so it may be asked before. */
bool fg_marks_may_call(const struct fg_task *task, const struct fgraph_ops *ops,
                       const struct ftrace_regs *regs, uint32_t idx, uint32_t flags);

/* Count the newest frame's mark for slot @idx when the frame comes back onto the stack (begin), or leaves
 * it (end). False: the frame has no mark for the slot. */
bool fg_marks_begin(struct fg_task *task, uint32_t idx);
bool fg_marks_end(struct fg_task *task, uint32_t idx);

/* True if some frame in progress is marked for this user. */
static inline bool fg_marks_any(const struct fg_task_user *user)
{
    return user->hiding | user->rooted;
}

#endif
