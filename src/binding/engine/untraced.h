/* Calling a function untraced, or apart from all that the program does. */
#ifndef FG_BINDING_UNTRACED_H
#define FG_BINDING_UNTRACED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* untraced() of the module. */
PyObject *fg_call_untraced(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

/* apart() of the module. Unlike untraced() it holds no guard, so the function may wait for locks that other
 * threads hold while they unregister users. */
PyObject *fg_call_apart(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
