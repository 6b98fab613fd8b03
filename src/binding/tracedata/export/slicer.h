/* Slicer: from batches of events to slices (tracedata/export/slices.h). */
#ifndef FG_BINDING_SLICER_H
#define FG_BINDING_SLICER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds Slicer, SLICES, SLICE_WHATS and the flags of slices to the module. Return: 0, or -1 with an
 * exception. */
int fg_add_slicer_types(PyObject *module);

#endif
