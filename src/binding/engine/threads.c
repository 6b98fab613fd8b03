/* See threads.h. The function is of the whole process: one interpreter has it at a time. */
#include "binding/engine/threads.h"

#include <errno.h>

#include "arch/cpython/latency/thread_watch.h"
#include "binding/engine/untraced.h"

static PyObject *callback;

/* The program has nobody to catch an error of ours: a list of threads lacks one then. */
static void notify(int parent_tid, int tid)
{
    PyObject *args[] = {callback, PyLong_FromLong(parent_tid), PyLong_FromLong(tid)};
    PyObject *result = args[1] && args[2] ? fg_call_apart(NULL, args, 3) : NULL;

    if (!result)
        PyErr_Clear();
    Py_XDECREF(result);
    Py_XDECREF(args[1]);
    Py_XDECREF(args[2]);
}

static void ends(int tid)
{
    notify(0, tid);
}

static const struct fg_thread_watch watch = {notify, ends};

PyObject *fg_watch_threads(PyObject *Py_UNUSED(module), PyObject *function)
{
    int error;

    fg_thread_watch_stop();
    Py_CLEAR(callback);
    if (function == Py_None)
        Py_RETURN_NONE;
    error = fg_thread_watch_start(&watch);
    if (error) {
        errno = -error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    callback = Py_NewRef(function);
    Py_RETURN_NONE;
}
