/* Ending a frame: its users see the return, and it is popped. Inside the guard. */
#ifndef FG_END_H
#define FG_END_H

#include "engine/core/regs.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/graph/marks.h"
#include "engine/graph/progress.h"

/* Calls the users of the newest frame at its return, and pops the frame. */
void fg_end_frame(struct fg_task *task, uint64_t *frame, uint64_t rettime, struct ftrace_regs *regs,
                  enum fg_end end);

/* Ends the calls in progress of a task that is about to end. Enters the guard itself. */
void fg_task_unwind(struct fg_task *task);

/* Counts a call that was not traced for lack of room on the task's stack. */
static inline void fg_count_overrun(struct fg_task *task)
{
    fg_task_count_overrun(task);
    fg_overrun_count();
}

static inline bool fg_bitmap_is_single(uint64_t bitmap)
{
    return !(bitmap & (bitmap - 1));
}

/* Calls @ops, the user that saw the frame's entry in slot @idx. If the frame has only a mark for the
 * user, the mark is counted down instead. */
static inline void fg_call_return(struct ftrace_graph_ret *trace, struct fg_task *task, uint32_t idx,
                                  struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct fg_task_user *user = &task->users[idx];

    if (fg_unlikely(fg_marks_any(user)) && fg_marks_end(task, idx))
        return;
    trace->depth = --user->depth;
    ops->retfunc(trace, ops, fg_regs_for(regs, ops->flags));
}

/* Pops the newest frame, after its users were called. */
static inline void fg_pop_ended(struct fg_task *task, const struct ftrace_graph_ret *trace)
{
    fg_pop_frame(task, trace->frame);
    if (fg_unlikely(fg_func_has_pending_returns(trace->func)))
        fg_progress_call_ended(trace->func);
}

#endif
