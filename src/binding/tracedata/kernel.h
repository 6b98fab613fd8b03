/* Reading a kernel's trace: what Python gets of its head, and hands in of its events. */
#ifndef FG_BINDING_KERNEL_H
#define FG_BINDING_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracedata/text/kernel_text.h"

/* Methods of Reader. */
PyObject *fg_reader_part(PyObject *self, PyObject *args);
PyObject *fg_reader_set_formats(PyObject *self, PyObject *args);
PyObject *fg_reader_scan(PyObject *self, PyObject *ignored);
PyObject *fg_reader_set_addresses(PyObject *self, PyObject *args);
/* Attributes of Reader. */
PyObject *fg_reader_get_buffer_names(PyObject *self, void *closure);
PyObject *fg_reader_get_clock(PyObject *self, void *closure);
PyObject *fg_reader_get_nr_cpus(PyObject *self, void *closure);

/* A list of (place in the text, id of the event, record). */
PyObject *fg_holes_list(const struct fg_kernel_holes *holes);

/* Adds HEAD_PARTS, KERNEL_ROLES and KERNEL_FIELDS. Return: 0, or -1 with an exception. */
int fg_add_kernel_names(PyObject *module);

#endif
