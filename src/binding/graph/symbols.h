/* Finding functions, called or not: functions of the module. */
#ifndef FG_BINDING_SYMBOLS_H
#define FG_BINDING_SYMBOLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_find_functions(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *fg_functions_named(PyObject *module, PyObject *names);
PyObject *fg_function_names(PyObject *module, PyObject *args, PyObject *kwargs);

/* The Function of a Function, Python function, method, code object or C function. A new reference, or
 * NULL with TypeError or ValueError. */
PyObject *fg_function_of_callable(PyObject *module, PyObject *callable);

#endif
