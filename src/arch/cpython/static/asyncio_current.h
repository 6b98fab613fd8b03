/* asyncio's table of the task that each event loop runs now, which all loops and all tasks keep. A table
 * that is a dict can be watched from CPython 3.12 on, and is one until 3.13. */
#ifndef FG_CPYTHON_STATIC_ASYNCIO_CURRENT_H
#define FG_CPYTHON_STATIC_ASYNCIO_CURRENT_H

#include "arch/cpython/base/compat/python.h"

/* A loop of this thread is about to run @task; NULL: it no longer runs one. No exception is set. */
typedef void (*fg_current_task_changes)(PyObject *task);

/* Return: false: there is no such table in this CPython, or asyncio is not imported. No exception is left
 * set. */
bool fg_current_tasks_watch(fg_current_task_changes changes);
void fg_current_tasks_unwatch(void);

#endif
