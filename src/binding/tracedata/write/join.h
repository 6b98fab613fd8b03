/* join(): several `.fg` traces as one. */
#ifndef FG_BINDING_TRACEDATA_JOIN_H
#define FG_BINDING_TRACEDATA_JOIN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the function to the module. Return: 0, or -1 with an exception set. */
int fg_add_join_functions(PyObject *module);

#endif
