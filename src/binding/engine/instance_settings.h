/* What an instance records: its tracer, filter and settings. Methods of Instance. */
#ifndef FG_BINDING_INSTANCE_SETTINGS_H
#define FG_BINDING_INSTANCE_SETTINGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

struct fg_instance;

PyObject *fg_instance_py_set_tracer(PyObject *self, PyObject *name);
PyObject *fg_instance_py_set_filter(PyObject *self, PyObject *args, PyObject *kwargs);
PyObject *fg_instance_py_set_setting(PyObject *self, PyObject *args);
PyObject *fg_instance_py_set_event_tids(PyObject *self, PyObject *args);

/* All settings as a dict. A new reference, or NULL with an exception. */
PyObject *fg_instance_py_settings(struct fg_instance *instance);

#endif
