/* The text of a report, a piece at a time: Reader.report() and ReportIterator. */
#ifndef FG_BINDING_REPORT_H
#define FG_BINDING_REPORT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Reader.report(), for a Reader in its critical section. */
PyObject *fg_reader_report(PyObject *self, PyObject *args);

/* Adds ReportIterator and REPORT_OPTIONS to the module. Return: 0, or -1 with an exception. */
int fg_add_report_types(PyObject *module);

#endif
