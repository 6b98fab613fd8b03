/* Reader.call_index(): the index of a trace's calls, and questions to it. */
#ifndef FG_BINDING_CALL_INDEX_H
#define FG_BINDING_CALL_INDEX_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Reader.call_index() and Reader.load_call_index(), for a Reader in its critical section. */
PyObject *fg_reader_call_index(PyObject *self, PyObject *args);
PyObject *fg_reader_load_call_index(PyObject *self, PyObject *args);

/* Adds CallIndex, SPAN_COLUMNS, SPAN_ENDS and MARK_KINDS to the module. Return: 0, or -1 with an
 * exception. */
int fg_add_call_index_types(PyObject *module);

#endif
