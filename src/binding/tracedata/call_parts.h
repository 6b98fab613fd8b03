/* Reader.call_parts(): what chosen calls spent their time on. */
#ifndef FG_BINDING_CALL_PARTS_H
#define FG_BINDING_CALL_PARTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Reader.call_parts(), for a Reader in its critical section. */
PyObject *fg_reader_call_parts(PyObject *self, PyObject *args);

/* Adds CALL_PARTS to the module. Return: 0, or -1 with an exception. */
int fg_add_call_parts_names(PyObject *module);

#endif
