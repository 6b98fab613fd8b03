/* What instances want of an event: whether they record it, with which filter and triggers. */
#ifndef FG_BINDING_EVENT_WANT_H
#define FG_BINDING_EVENT_WANT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/event/event_object.h"

/* Forgets the triggers of instances that have stopped. Return: 0, or -1 with an exception. */
int fg_event_drop_stale_triggers(struct fg_event_object *self);

/* Methods of Event; what they do is in the type stub. */
PyObject *fg_event_set_request(PyObject *object, PyObject *args);
PyObject *fg_event_get_recorded(PyObject *object, PyObject *handle);

#endif
