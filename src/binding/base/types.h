/* Types of an extension module: creating them, adding them to the module, and what their method tables
 * share. */
#ifndef FG_BINDING_TYPES_H
#define FG_BINDING_TYPES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structseq.h>

/**
 * fg_add_type - create a heap type and add it to the module under its own name
 * @type: where the module's state keeps it: a strong reference
 *
 * Return: 0, or -1 with an exception.
 */
int fg_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);

/* As fg_add_type, for a type that Python code never names: it is not added to the module. */
int fg_make_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type);

/* As fg_add_type, for a struct sequence. */
int fg_add_sequence(PyObject *module, PyStructSequence_Desc *desc, PyTypeObject **type);

/**
 * fg_sequence_of - make a struct sequence
 * @items: @n new references, which are stolen; any of them may be NULL with an exception set
 *
 * Return: a new reference, or NULL with an exception.
 */
PyObject *fg_sequence_of(PyTypeObject *type, PyObject *const items[], Py_ssize_t n);

/* tp_dealloc of a heap type whose objects hold no references and are unknown to the garbage collector. */
void fg_dealloc_plain(PyObject *object);

/* The function and flags of a PyMethodDef whose function takes keywords, or a vector of arguments. */
#define FG_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS
#define FG_FASTCALL(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

#endif
