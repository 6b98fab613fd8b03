/* Telling a Python function of threads that begin and end. */
#ifndef FG_BINDING_THREADS_H
#define FG_BINDING_THREADS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* watch_threads() of the module. */
PyObject *fg_watch_threads(PyObject *module, PyObject *function);

#endif
