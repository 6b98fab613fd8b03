/* Events on the fields of other events: which one an event is on, and listening to it. */
#ifndef FG_BINDING_EVENT_BASE_H
#define FG_BINDING_EVENT_BASE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/event/event_object.h"

/* The event is on another one. Return: 0, or -1 with an exception. */
int fg_event_listen_to_base(struct fg_event_object *self);
void fg_event_leave_base(struct fg_event_object *self);

/* A method of Event; what it does is in the type stub. */
PyObject *fg_event_set_base(PyObject *object, PyObject *args);

#endif
