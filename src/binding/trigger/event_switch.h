/* EventSwitch: whether an instance records the hits of an event. Triggers may turn it. */
#ifndef FG_BINDING_EVENT_SWITCH_H
#define FG_BINDING_EVENT_SWITCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/trigger/trigger.h"

extern PyType_Spec fg_event_switch_spec;

/* The engine's half of an EventSwitch. The caller knows that it is one. */
struct fg_event_switch *fg_event_switch_of(PyObject *object);

#endif
