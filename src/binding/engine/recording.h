/* Recording into a ring-buffer file of a session. */
#ifndef FG_BINDING_RECORDING_H
#define FG_BINDING_RECORDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* start(), stop() and wait_for_site() of the module. */
PyObject *fg_start(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *fg_stop(PyObject *module, PyObject *handle);
PyObject *fg_wait_for_site(PyObject *module, PyObject *ignored);

/* Adds MODES to the module. Return: 0, or -1 with an exception. */
int fg_recording_add(PyObject *module);

#endif
