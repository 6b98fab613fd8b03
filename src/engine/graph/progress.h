/* Calls in progress, seen from outside: the returns that users still wait for, and the stale frames of
 * users that have left. */
#ifndef FG_PROGRESS_H
#define FG_PROGRESS_H

#include "engine/core/function.h"
#include "engine/core/task.h"

/* Recomputes has_pending_returns of all functions: true if no user wants returns any longer, but a call
 * in progress has a user that waits for its return. Engine's lock held. */
void fg_progress_note_pending(void);
/* Called when a call of a function with pending returns has ended. After the last such call the arch may
 * remove the function's hooks. */
FG_COLD void fg_progress_call_ended(struct fg_func *func);
/**
 * fg_progress_forget() - Let the hooks of functions go that were kept for calls in progress.
 * @scope: has no users
 *
 * Without users nobody waits for returns. But fg_progress_note_pending() may have taken a frame for that of
 * an entry under way, and no return of that call need follow.
 *
 * Context: without locks.
 */
void fg_progress_forget(const void *scope);

/* Pops frames that no user waits for, from the newest down to the task's floor. In the task's thread,
 * inside the guard. */
void fg_progress_reap(struct fg_task *task);
/* Called after a user has left: pops its stale frames, in other threads at their next entry. */
void fg_progress_reap_all(void);

#endif
