/* Texts that the program puts into traces: mark() and trace_printk(), of one instance or of all top
 * instances. */
#ifndef FG_BINDING_MARKER_H
#define FG_BINDING_MARKER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Methods of Instance. */
PyObject *fg_instance_py_mark(PyObject *self, PyObject *text);
PyObject *fg_instance_py_printk(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

/* Functions of the module. */
PyObject *fg_top_mark(PyObject *module, PyObject *text);
PyObject *fg_top_printk(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
