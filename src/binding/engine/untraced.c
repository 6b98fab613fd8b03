/* See untraced.h. */
#include "binding/engine/untraced.h"

#include <stdbool.h>

#include "arch/cpython/base/callback.h"
#include "arch/cpython/register/users.h"
#include "engine/core/task.h"

/* Holds the guard, as a callback does: no call made here is traced, and whoever unregisters a user waits
 * for us. */
PyObject *fg_call_untraced(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    struct fg_task *task;
    bool has_entered;
    PyObject *result;

    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "untraced() needs a function");
        return NULL;
    }
    /* A thread that is apart needs no guard. */
    task = fg_engine_here() && (!fg_untraced || fg_task_self) ? fg_task_current() : NULL;
    if (!task && PyErr_Occurred())
        return NULL;
    has_entered = task && fg_guard_enter(task);
    fg_untraced++;
    result = PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, NULL);
    fg_untraced--;
    if (has_entered)
        fg_guard_leave(task);
    return result;
}

PyObject *fg_call_apart(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    PyThreadState *tstate = PyThreadState_Get();
    bool is_outermost;
    PyObject *result;

    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "apart() needs a function");
        return NULL;
    }
    is_outermost = fg_task_set_apart(true);
    fg_untraced++;
    PyThreadState_EnterTracing(tstate);
    result = PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, NULL);
    PyThreadState_LeaveTracing(tstate);
    fg_untraced--;
    if (is_outermost)
        fg_task_set_apart(false);
    return result;
}
