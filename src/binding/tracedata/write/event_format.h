/* event_format(), header_page(), header_event(): the format texts of an event, a page and a record. */
#ifndef FG_BINDING_TRACEDATA_EVENT_FORMAT_H
#define FG_BINDING_TRACEDATA_EVENT_FORMAT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

int fg_add_event_format(PyObject *module);

#endif
