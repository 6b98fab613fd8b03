/* Calls in progress, seen from outside of them: which returns a user still waits for, and frames of users
 * that have left. */
#ifndef FG_PROGRESS_H
#define FG_PROGRESS_H

#include "engine/core/function.h"
#include "engine/core/task.h"

/* Finds the functions that no user wants returns of any longer, but that have calls in progress whose
 * return a user waits for. Engine's lock held. */
void fg_progress_note_pending(void);
/* A call of a function with pending returns is over. If it was the last one, the arch may take the
 * function's hooks out. */
FG_COLD void fg_progress_call_ended(struct fg_func *func);

/* Takes frames that no user waits for off the task's stack, from the newest down to its floor. In the
 * task's thread, inside the guard. */
void fg_progress_reap(struct fg_task *task);
/* A user has left: its frames go, in other threads at their next entry. */
void fg_progress_reap_all(void);

#endif
