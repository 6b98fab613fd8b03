/* Bringing a suspended call's frame back onto a stack. Inside the guard. */
#ifndef FG_RESUME_H
#define FG_RESUME_H

#include <stdint.h>

#include "engine/core/regs.h"
#include "engine/core/task.h"
#include "engine/graph/parked.h"

/* Copies a parked frame onto the task's stack. NULL: there is no room. */
uint64_t *fg_push_parked(struct fg_task *task, const struct fg_parked *parked);
/* Moves the parked frame of call @fp onto the task's stack. NULL: there is none, or no room
 * (it stays parked). */
uint64_t *fg_unpark(struct fg_task *task, uintptr_t fp);
/* Calls the resume functions of the users of the newest frame. */
void fg_resume_users(struct fg_task *task, uint64_t *frame, struct ftrace_regs *regs);
/* Drops the data of a parked frame whose users will not see its return. Counts a lost return. */
void fg_lose_parked(struct fg_task *task, struct fg_parked *parked);
/* Resumes a suspended call that runs although the arch reported no resume. CPython resumes a
 * generator silently when the one that it delegates to ends by throw() or close(). NULL: no such
 * call is suspended. */
uint64_t *fg_resume_late(struct fg_task *task, uintptr_t fp);

#endif
