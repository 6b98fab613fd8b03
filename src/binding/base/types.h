/* The types of an extension module: made, added to it, and kept in its state. */
#ifndef FG_TYPES_H
#define FG_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structseq.h>

/* Makes the heap type of `spec`, keeps it in *type and adds it to the module under its own name: 0, or -1 with an exception. */
int fg_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);
/* The same for what Python code never names: it is not added. */
int fg_make_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);
/* The same as fg_add_type for a struct sequence. */
int fg_add_sequence(PyObject *module, PyStructSequence_Desc *desc, PyTypeObject **type);

/* A struct sequence out of `n` new references, which it takes over. NULL with an exception also if one of them is NULL. */
PyObject *fg_sequence_of(PyTypeObject *type, PyObject *const items[], Py_ssize_t n);

#endif
