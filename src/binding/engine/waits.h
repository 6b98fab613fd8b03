/* Waiting for an instance's records: in a thread of this process, and for readers outside of it. */
#ifndef FG_BINDING_ENGINE_WAITS_H
#define FG_BINDING_ENGINE_WAITS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A method of Instance. */
PyObject *fg_instance_py_wait(PyObject *self, PyObject *args);

/* Adds the capsule of binding/base/waits.h to the module. Return: 0, or -1 with an exception. */
int fg_waits_add(PyObject *module);

#endif
