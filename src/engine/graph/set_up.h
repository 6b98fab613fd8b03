/* What users set up for a call before its time begins.
 *
 * Now and then a user needs something that takes ten or a hundred times as long as a short call: a
 * sub-buffer, a row of a profile. All users of a call get what they need (fg_user.readyfunc) before the
 * engine reads the clock for the entry or the resume. So no duration contains it, only that of the caller. */
#ifndef FG_SET_UP_H
#define FG_SET_UP_H

#include "engine/core/function.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"
#include "engine/graph/user_list.h"

/**
 * fg_set_up_entry() - Have the users that will see a call that begins get ready for it.
 * @task: the current task
 * @func: the called function
 * @list: its users, of which some may have to get ready
 * @regs: what the hook saw
 *
 * Context: inside the guard, before the call has a frame.
 */
void fg_set_up_entry(struct fg_task *task, const struct fg_func *func, struct fg_user_list *list,
                     const struct ftrace_regs *regs);

/* The same for the users of a frame that was just put back onto the stack. */
void fg_set_up_resume(struct fg_task *task, uint64_t *frame);

#endif
