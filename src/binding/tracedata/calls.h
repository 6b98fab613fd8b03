/* Reader.calls(): calls as columns. */
#ifndef FG_BINDING_CALLS_H
#define FG_BINDING_CALLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Reader.calls(), for a Reader in its critical section. */
PyObject *fg_reader_calls(PyObject *self, PyObject *args);

/* Adds CallsIterator to the module. Return: 0, or -1 with an exception. */
int fg_add_calls_types(PyObject *module);

#endif
