/* Reader.lockstep(): where the calls of two readings first differ. */
#ifndef FG_BINDING_LOCKSTEP_H
#define FG_BINDING_LOCKSTEP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_reader_lockstep(PyObject *self, PyObject *args);

/* Adds the name LOCKSTEP_DIFFERENCES. Return: 0, or -1 with an exception. */
int fg_add_lockstep_names(PyObject *module);

#endif
