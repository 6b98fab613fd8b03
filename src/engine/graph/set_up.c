/* See set_up.h. */
#include "engine/graph/set_up.h"

#include "engine/graph/frame.h"
#include "engine/graph/marks.h"

void fg_set_up_entry(struct fg_task *task, const struct fg_func *func, struct fg_user_list *list,
                     const struct ftrace_regs *regs)
{
    if (fg_task_is_in_signal(task))
        return;
    for (uint32_t i = 0; i < list->n; i++) {
        const struct fg_user_ref *user = &list->users[i];
        struct fgraph_ops *ops = atomic_load_explicit(&user->ops, memory_order_relaxed);

        if (fg_user_of(ops)->readyfunc &&
            (fg_likely(!user->flags) || fg_marks_may_call(task, ops, regs, user->idx, user->flags)))
            fg_user_of(ops)->readyfunc(task, func, ops, regs);
    }
}

void fg_set_up_resume(struct fg_task *task, uint64_t *frame)
{
    const struct ftrace_regs nothing = {0};

    for (uint64_t left = frame[FRAME_BITMAP]; left; left &= left - 1) {
        struct fgraph_ops *ops = fg_frame_user(frame, (uint32_t)__builtin_ctzll(left));

        if (ops && fg_user_of(ops)->readyfunc)
            fg_user_of(ops)->readyfunc(task, fg_frame_func(frame), ops, &nothing);
    }
}
