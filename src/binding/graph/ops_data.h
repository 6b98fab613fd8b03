/* The methods of FgraphOps by which a callback keeps bytes or an object from a call's entry to its return. */
#ifndef FG_BINDING_OPS_DATA_H
#define FG_BINDING_OPS_DATA_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_ops_reserve_data(PyObject *self, PyObject *size_bytes);
PyObject *fg_ops_retrieve_data(PyObject *self, PyObject *ignored);
PyObject *fg_ops_retrieve_parent_data(PyObject *self, PyObject *depth);
PyObject *fg_ops_reserve_object(PyObject *self, PyObject *object);
PyObject *fg_ops_retrieve_object(PyObject *self, PyObject *ignored);

#endif
