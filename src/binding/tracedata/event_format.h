/* event_format(): the format text of an event. */
#ifndef FG_BINDING_TRACEDATA_EVENT_FORMAT_H
#define FG_BINDING_TRACEDATA_EVENT_FORMAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

int fg_add_event_format(PyObject *module);

#endif
