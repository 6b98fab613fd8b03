/* What the files of Event share: the object. */
#ifndef FG_BINDING_EVENT_OBJECT_H
#define FG_BINDING_EVENT_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arch/cpython/fetch/program.h"
#include "binding/event/derived.h"
#include "engine/event/event.h"

struct fg_event_probe;

/* An Event. Its methods run in its critical section, where they change it. */
struct fg_event_object {
    PyObject_HEAD struct fg_event *event; /* NULL: closed */
    char *layout;                         /* of the fields, as in the symbol */
    struct fg_field *fields;              /* for filters and triggers */
    const char **names;                   /* of the fields; one allocation with their texts */
    uint32_t nr_fields;
    PyTypeObject *trigger_type, *switch_type;
    PyObject *triggers; /* dict: handle of an instance -> its triggers and its switch */
    enum fg_fetch_place place;
    bool is_native;                /* its probes are on native functions */
    bool is_attached;              /* its probes are registered */
    struct fg_event_probe *probes; /* the latest first */
    struct fg_derived_event *made; /* of an event that others make; else NULL */
    struct fg_eprobe_parts *on;    /* of one on the fields of another event */
    struct fg_event_object *base;  /* that one */
};

/* NULL with ValueError: the event is closed. */
struct fg_event_object *fg_event_open(PyObject *object);

/* Raises what a negative errno means, unless there is an exception already. Return: NULL. */
PyObject *fg_event_raise(int error);

#endif
