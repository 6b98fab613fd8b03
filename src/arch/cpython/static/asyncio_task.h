/* asyncio's tasks: what is stored in them, those in C (_asyncio.Task) and those in Python. */
#ifndef FG_CPYTHON_STATIC_ASYNCIO_TASK_H
#define FG_CPYTHON_STATIC_ASYNCIO_TASK_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

#define FG_TASK_TEXT_BYTES 96u

/* The classes of asyncio.tasks. Owned; NULL: not known. */
struct fg_task_types {
    PyTypeObject *in_c, *in_python;
};

/* Return: false: asyncio.tasks is not imported, or has no such classes. No exception is left set. */
bool fg_task_types_find(struct fg_task_types *types);
void fg_task_types_clear(struct fg_task_types *types);

static inline bool fg_is_task(const struct fg_task_types *types, PyObject *object)
{
    return (types->in_c && PyObject_TypeCheck(object, types->in_c)) ||
           (types->in_python && PyObject_TypeCheck(object, types->in_python));
}

/* The task that a handle's callback steps; borrowed. NULL: it steps none. */
PyObject *fg_task_stepped_by(const struct fg_task_types *types, PyObject *callback);

/* Each copies a text; "" if it is not known. No exception is left set; one that is set is lost. */
void fg_task_name(PyObject *task, char text[FG_TASK_TEXT_BYTES]);
/* The qualified name of a coroutine. */
void fg_task_coro_name(PyObject *coroutine, char text[FG_TASK_TEXT_BYTES]);
/* Of the task's coroutine. */
void fg_task_coro(PyObject *task, char text[FG_TASK_TEXT_BYTES]);
bool fg_task_is_done(PyObject *task);
/* Of a task that is done: "finished", "cancelled", or the type of its exception. */
void fg_task_result(PyObject *task, char text[FG_TASK_TEXT_BYTES]);

#endif
