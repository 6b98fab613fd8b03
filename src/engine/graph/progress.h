/* Calls in progress, seen from outside of them. Private to the engine. */
#ifndef FG_PROGRESS_H
#define FG_PROGRESS_H

#include "engine/core/task.h"

struct fg_func;

/* Says of each function if it is busy: it has no users, but calls in progress whose end a user wants. Engine's lock
 * held. */
void fg_progress_note(void);
/* A call of a busy function is over: the arch stops telling of the function if it was the last. */
FG_COLD void fg_progress_call_ended(struct fg_func *func);

/* Takes the newest frames off the task's stack, down to its floor, while nobody wants their end. Its own thread, inside
 * the guard. */
void fg_progress_reap(struct fg_task *task);
/* A user has left: its frames go, in other threads at their next entry. */
void fg_progress_reap_all(void);

#endif
