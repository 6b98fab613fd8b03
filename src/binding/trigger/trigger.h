/* Trigger: what an event does at its hits, and its histogram. */
#ifndef FG_BINDING_TRIGGER_H
#define FG_BINDING_TRIGGER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/trigger/hist_plan.h"
#include "engine/trigger/trigger.h"

struct fg_event;

extern PyType_Spec fg_trigger_spec;

/* Functions of the module. */
extern PyMethodDef fg_trigger_functions[];

/* The engine's half of a Trigger. The caller knows that it is one. */
struct fg_trigger *fg_trigger_of(PyObject *object);

/* Fills a new Trigger, which is all zeros; the filter becomes its own. */
void fg_trigger_fill(PyObject *object, int kind, int64_t count, struct fg_event_filter *filter);
/* Has it act on an EventSwitch, or on the histograms of an Event, which it keeps. */
void fg_trigger_set_target(PyObject *object, PyObject *target, struct fg_event_switch *switched,
                           struct fg_event *event);

/* The type Event, and what others make of one; NULL: nothing does. */
struct fg_event_type_of {
    PyTypeObject *type;
    struct fg_hist_sink *(*sink)(PyObject *event);
};

/**
 * fg_trigger_make_hist() - Give it a histogram.
 * @links: (share, references, actions): see the type stub of Event.trigger()
 *
 * Return: 0, or -1 with an exception.
 */
int fg_trigger_make_hist(PyObject *object, PyObject *plan, PyObject *links,
                         const struct fg_hist_fields *fields, const struct fg_event_type_of *events);

#endif
