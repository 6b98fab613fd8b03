/* PerfettoEncoder: from slices to packets of a Perfetto trace (tracedata/export/perfetto.h). */
#ifndef FG_BINDING_PERFETTO_H
#define FG_BINDING_PERFETTO_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds PerfettoEncoder and the numbers that its packets use to the module. Return: 0, or -1 with an
 * exception. */
int fg_add_perfetto_types(PyObject *module);

#endif
