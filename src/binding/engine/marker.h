/* What the program puts into traces: mark(), mark_raw() and trace_printk(), of one instance; texts of all top
 * instances, too. */
#ifndef FG_BINDING_MARKER_H
#define FG_BINDING_MARKER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Methods of Instance. */
PyObject *fg_instance_py_mark(PyObject *self, PyObject *text);
PyObject *fg_instance_py_mark_raw(PyObject *self, PyObject *data);
PyObject *fg_instance_py_printk(PyObject *self, PyObject *const *args, Py_ssize_t nargs);

/* Functions of the module. */
PyObject *fg_top_mark(PyObject *module, PyObject *text);
PyObject *fg_top_printk(PyObject *module, PyObject *const *args, Py_ssize_t nargs);

#endif
