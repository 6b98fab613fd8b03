/* The name of a thread, as the program gave it to threading.Thread. */
#ifndef FG_CPYTHON_TASK_NAME_H
#define FG_CPYTHON_TASK_NAME_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/core/task.h"

/* Member of struct fg_process_ops. */
void fg_cpython_task_name(struct fg_task *task, char *out, size_t room);
/* Names a new thread from the frame that it is about to run. On 3.11 that frame is not linked to the
 * thread yet. */
void fg_cpython_task_name_first(struct fg_task *task, fg_pyframe *frame);
/* Names a new thread that runs no frame yet, from its threading.Thread. */
void fg_cpython_task_name_of(struct fg_task *task, PyObject *thread);

#endif
