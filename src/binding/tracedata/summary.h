/* Reader.summary() and Reader.call_tree(): what one pass over the trace adds up. */
#ifndef FG_BINDING_SUMMARY_H
#define FG_BINDING_SUMMARY_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* For a Reader in its critical section, both. */
PyObject *fg_reader_summary(PyObject *self, PyObject *args);
PyObject *fg_reader_call_tree(PyObject *self, PyObject *args);

/* Adds TREE_COLUMNS and TREE_GROUPS to the module. Return: 0, or -1 with an exception. */
int fg_add_tree_names(PyObject *module);

#endif
