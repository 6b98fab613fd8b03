/* Locks and fork. os.fork() stops the world before pthread_atfork() handlers run, and a thread may be
 * stopped while it holds a lock. Python's own fork handlers run before that, so they take the locks. */
#include "arch/cpython/base/lock.h"

#ifdef Py_GIL_DISABLED

PyMutex fg_locks[FG_NR_LOCKS];
_Thread_local bool fg_holds_locks;

static PyObject *before(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    for (int i = 0; i < FG_NR_LOCKS; i++)
        fg_lock((enum fg_lock)i);
    fg_holds_locks = true;
    Py_RETURN_NONE;
}

static PyObject *after(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    fg_holds_locks = false;
    for (int i = FG_NR_LOCKS; i-- > 0;)
        fg_unlock((enum fg_lock)i);
    Py_RETURN_NONE;
}

static PyMethodDef before_def = {"before_fork", before, METH_NOARGS, "Take the locks of funcgraph's hooks."};
static PyMethodDef after_def = {"after_fork", after, METH_NOARGS, "Release the locks of funcgraph's hooks."};

int fg_locks_init(void)
{
    PyObject *os = PyImport_ImportModule("os");
    PyObject *register_at_fork = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *handlers =
        Py_BuildValue("{s:N,s:N,s:N}", "before", PyCFunction_New(&before_def, NULL), "after_in_parent",
                      PyCFunction_New(&after_def, NULL), "after_in_child", PyCFunction_New(&after_def, NULL));
    PyObject *result =
        register_at_fork && none && handlers ? PyObject_Call(register_at_fork, none, handlers) : NULL;

    Py_XDECREF(os);
    Py_XDECREF(register_at_fork);
    Py_XDECREF(none);
    Py_XDECREF(handlers);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

#endif
