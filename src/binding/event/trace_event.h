/* TraceEvent: an event that the program declares, as the object that it calls. */
#ifndef FG_BINDING_TRACE_EVENT_H
#define FG_BINDING_TRACE_EVENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_trace_event_spec;
extern PyMethodDef fg_trace_event_functions[];

#endif
