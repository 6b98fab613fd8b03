/* The interpreter's events. It keeps them until they are closed, and stops them when they are not used. */
#ifndef FG_BINDING_EVENT_LIST_H
#define FG_BINDING_EVENT_LIST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Return: 0, or -1 with an exception. */
int fg_event_enlist(PyObject *object);
void fg_event_unlist(PyObject *object);

/* Before the first event. */
void fg_event_begin(void);
/* The interpreter ends: its events are hit no longer. */
void fg_event_end(void);

#endif
