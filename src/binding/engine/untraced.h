/* Calling a function untraced. */
#ifndef FG_BINDING_UNTRACED_H
#define FG_BINDING_UNTRACED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* untraced() of the module. */
PyObject *fg_call_untraced(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
