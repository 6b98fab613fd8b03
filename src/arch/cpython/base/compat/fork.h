/* An interpreter's fork handlers, in the order in which it runs them. */
#ifndef FG_COMPAT_FORK_H
#define FG_COMPAT_FORK_H

#include "arch/cpython/base/compat/python.h"

#include "internal/pycore_interp.h"

enum fg_fork_time { FG_FORK_BEFORE, FG_FORK_IN_PARENT, FG_FORK_IN_CHILD, FG_NR_FORK_TIMES };

/* As os.register_at_fork(), of the calling thread's interpreter. But no handler that is there already runs
 * between @handler and the fork: CPython runs those before a fork from the last to the first, and those after
 * it from the first to the last. Return: 0, or -1 with an exception. */
static inline int fg_fork_add_innermost(enum fg_fork_time time, PyObject *handler)
{
    PyInterpreterState *interp = PyInterpreterState_Get();
    PyObject **lists[FG_NR_FORK_TIMES] = {&interp->before_forkers, &interp->after_forkers_parent,
                                          &interp->after_forkers_child};
    PyObject **list = lists[time];

    if (!*list && !(*list = PyList_New(0)))
        return -1;
    return PyList_Insert(*list, 0, handler);
}

#endif
