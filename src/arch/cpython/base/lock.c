/* Locks and fork. os.fork() stops the world before pthread_atfork() handlers run, and a thread may be
 * stopped while it holds a lock. Python's own fork handlers run before that, so they take the locks.
 *
 * They take them last and release them first. Another handler may wait for a thread: logging's waits for a
 * lock of its own, and the thread that holds that may be about to call a function that has no record yet.
 * After the handlers CPython takes the import lock, for which the same holds. So it is taken before ours. */
#include "arch/cpython/base/lock.h"

#ifdef Py_GIL_DISABLED

#include <string.h>

#include "arch/cpython/base/compat/fork.h"

PyMutex fg_locks[FG_NR_LOCKS];
_Thread_local bool fg_holds_locks;

/* Return: None, also if @function of the module _imp raised. */
static PyObject *call_import_lock(const char *function)
{
    PyObject *imp = PyImport_ImportModule("_imp");
    PyObject *result = imp ? PyObject_CallMethod(imp, function, NULL) : NULL;

    Py_XDECREF(imp);
    Py_XDECREF(result);
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *before(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyObject *none = call_import_lock("acquire_lock");

    for (int i = 0; i < FG_NR_LOCKS; i++)
        fg_lock((enum fg_lock)i);
    fg_holds_locks = true;
    return none;
}

static PyObject *release(void)
{
    fg_holds_locks = false;
    for (int i = FG_NR_LOCKS; i-- > 0;)
        fg_unlock((enum fg_lock)i);
    return call_import_lock("release_lock");
}

/* A handler that ran before us, or a thread for which it waited, may have loaded this module. Then nobody
 * has taken the locks. */
static PyObject *after_in_parent(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    if (fg_holds_locks)
        return release();
    Py_RETURN_NONE;
}

/* A thread that is not in the child may hold locks that nobody has taken for the fork. */
static PyObject *after_in_child(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    if (fg_holds_locks)
        return release();
    memset(fg_locks, 0, sizeof(fg_locks));
    Py_RETURN_NONE;
}

static PyMethodDef handlers[FG_NR_FORK_TIMES] = {
    [FG_FORK_BEFORE] = {"before_fork", before, METH_NOARGS, "Take the locks of funcgraph's hooks."},
    [FG_FORK_IN_PARENT] = {"after_fork", after_in_parent, METH_NOARGS,
                           "Release the locks of funcgraph's hooks."},
    [FG_FORK_IN_CHILD] = {"after_fork", after_in_child, METH_NOARGS,
                          "Release the locks of funcgraph's hooks."},
};

int fg_locks_init(void)
{
    int error = 0;

    for (int i = 0; i < FG_NR_FORK_TIMES && !error; i++) {
        PyObject *handler = PyCFunction_New(&handlers[i], NULL);

        error = handler ? fg_fork_add_innermost((enum fg_fork_time)i, handler) : -1;
        Py_XDECREF(handler);
    }
    return error;
}

#endif
