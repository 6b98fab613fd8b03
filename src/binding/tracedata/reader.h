/* The classes Reader and ReportIterator: reading traces. */
#ifndef FG_BINDING_READER_H
#define FG_BINDING_READER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the classes and REPORT_OPTIONS to the module. Return: 0, or -1 with an exception. */
int fg_add_reader_types(PyObject *module);

#endif
