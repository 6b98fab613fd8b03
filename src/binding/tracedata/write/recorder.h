/* The class Recorder: writing traces. */
#ifndef FG_BINDING_RECORDER_H
#define FG_BINDING_RECORDER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the class and CLOCKS to the module. Return: 0, or -1 with an exception. */
int fg_add_recorder_types(PyObject *module);

#endif
