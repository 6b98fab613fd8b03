/* Registering an FgraphOps. */
#ifndef FG_BINDING_REGISTRATION_H
#define FG_BINDING_REGISTRATION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_register(PyObject *module, PyObject *ops);
PyObject *fg_unregister(PyObject *module, PyObject *ops);

#endif
