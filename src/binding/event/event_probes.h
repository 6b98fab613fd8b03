/* Probes of an event: on functions, at places in them, on static events. */
#ifndef FG_BINDING_EVENT_PROBES_H
#define FG_BINDING_EVENT_PROBES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/event/event_object.h"

/* Attaches all. Return: 0, or -1 with an exception: some may be attached. */
int fg_event_attach_probes(struct fg_event_object *self);
/* Those that are not attached stay as they are. */
void fg_event_detach_probes(struct fg_event_object *self);
/* Detaches and frees a list of them. */
void fg_event_free_probes(struct fg_event_probe *probes);

/* How many fields its probes could not read, and how many hits they missed. */
unsigned long long fg_event_faults(const struct fg_event_object *self);
unsigned long long fg_event_nmissed(const struct fg_event_object *self);

/* Methods of Event; what they do is in the type stub. */
PyObject *fg_event_add_probe(PyObject *object, PyObject *args);
PyObject *fg_event_add_place(PyObject *object, PyObject *args);
PyObject *fg_event_add_static_probe(PyObject *object, PyObject *args);
PyObject *fg_event_remove_probe(PyObject *object, PyObject *index);
PyObject *fg_event_probe_counts(PyObject *object, PyObject *ignored);

#endif
