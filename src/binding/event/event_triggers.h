/* Making the triggers of an event. */
#ifndef FG_BINDING_EVENT_TRIGGERS_H
#define FG_BINDING_EVENT_TRIGGERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A method of Event; what it does is in the type stub. */
PyObject *fg_event_make_trigger(PyObject *object, PyObject *args);

#endif
