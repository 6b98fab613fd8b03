/* Event: a kind of event with its probes. */
#ifndef FG_BINDING_EVENT_H
#define FG_BINDING_EVENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_event_spec;

/* Functions of the module. */
extern PyMethodDef fg_event_functions[];

/* Before the first event. */
void fg_event_begin(void);
/* The interpreter ends: its events are hit no longer. */
void fg_event_end(void);

#endif
