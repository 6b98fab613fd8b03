/* What an instance records: its tracer, filter and settings. Methods of Instance. */
#ifndef FG_BINDING_INSTANCE_SETTINGS_H
#define FG_BINDING_INSTANCE_SETTINGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/core/value_style.h"

struct fg_instance;

/* Makes a style of values. Return: 0, or -1 with an exception. */
int fg_value_style_of(struct fg_value_style *style, uint32_t values, uint32_t string_size,
                      const char *redact);

PyObject *fg_instance_py_set_tracer(PyObject *self, PyObject *name);
PyObject *fg_instance_py_set_filter(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *fg_instance_py_set_setting(PyObject *self, PyObject *args);
PyObject *fg_instance_py_set_event_tids(PyObject *self, PyObject *args);

/* The words of each instance of this interpreter that leaves values out: handle -> words. A new reference, or
 * NULL with an exception. */
PyObject *fg_redact_words(PyObject *module, PyObject *ignored);

/* All settings as a dict. A new reference, or NULL with an exception. */
PyObject *fg_instance_py_settings(struct fg_instance *instance);

#endif
