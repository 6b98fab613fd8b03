/* Reader.columns(): events as columns. */
#ifndef FG_BINDING_COLUMNS_H
#define FG_BINDING_COLUMNS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Reader.columns(), for a Reader in its critical section. */
PyObject *fg_reader_columns(PyObject *self, PyObject *args);

/* Adds ColumnsIterator to the module. Return: 0, or -1 with an exception. */
int fg_add_columns_types(PyObject *module);

#endif
