/* While somebody uses an event its probes are attached, or it listens to the event that it is on. */
#ifndef FG_BINDING_EVENT_USE_H
#define FG_BINDING_EVENT_USE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/event/event_object.h"

/* The event is hit no longer. */
void fg_event_stop(struct fg_event_object *self);

/* What uses the event has changed: start or stop it. Return: 0, or -1 with an exception. */
int fg_event_follow_use(struct fg_event_object *self);

/* Whether it is started, and nobody uses it. */
bool fg_event_is_idle(const struct fg_event_object *self);

#endif
