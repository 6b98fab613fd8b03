/* Event: a kind of event with its probes. */
#ifndef FG_BINDING_EVENT_H
#define FG_BINDING_EVENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_event_spec;

#endif
