/* Functions of the module that control the latency tracers. */
#ifndef FG_BINDING_LATENCY_H
#define FG_BINDING_LATENCY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds them, and LATENCY_TRACERS, to the module. Return: 0, or -1 with an exception. */
int fg_latency_add(PyObject *module);

#endif
