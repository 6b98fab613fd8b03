/* Names of tracers, of their flags, and the limits of their settings. */
#ifndef FG_BINDING_TRACERS_H
#define FG_BINDING_TRACERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/tracer/tracer.h"

/* The tracer of that name. NULL with ValueError, which lists the tracers. */
const struct fg_tracer *fg_tracer_named(const char *name);

/* Adds TRACERS, INSTANCE_FLAGS, INSTANCE_LIMITS and INSTANCE_NAME_BYTES to the module. Return: 0, or -1
 * with an exception. */
int fg_tracers_add(PyObject *module);

#endif
