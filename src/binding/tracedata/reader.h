/* Reading traces: Reader, and the report of it. */
#ifndef FG_BINDING_READER_H
#define FG_BINDING_READER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds Reader, ReportIterator and REPORT_OPTIONS to the module. Return: 0, or -1 with an exception. */
int fg_add_reader_types(PyObject *module);

#endif
