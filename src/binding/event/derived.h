/* Events that other events make, from Python's tuples to the engine's structs. */
#ifndef FG_BINDING_MADE_H
#define FG_BINDING_MADE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/trigger/hist_plan.h"
#include "engine/event/derived_event.h"
#include "engine/event/eprobe.h"
#include "engine/trigger/hist_action.h"

/**
 * fg_derived_event_of() - Lay out the fields of such an event.
 * @fields: funcgraph.definitions.field.Field of each
 * @limits: the most bytes of each text; 0: no limit
 * @names: set to the fields' names, which the caller frees
 *
 * Return: without an event, for free(); NULL with an exception: OSError E2BIG if they do not fit.
 */
struct fg_derived_event *fg_derived_event_of(PyObject *fields, PyObject *limits, const char ***names);

/* A probe on another event, with what it refers to. */
struct fg_eprobe_parts {
    struct fg_eprobe probe;
    PyObject *tuple; /* keeps the texts */
};

/**
 * fg_eprobe_parts_new() - Make a probe on another event.
 * @values: for each field a term, or a text
 * @fields: the other event's
 * @filter: becomes the probe's, also if this fails
 *
 * Return: NULL with an exception.
 */
struct fg_eprobe_parts *fg_eprobe_parts_new(struct fg_derived_event *made, PyObject *values,
                                            const struct fg_hist_fields *fields,
                                            struct fg_event_filter *filter);
/* NULL is allowed. */
void fg_eprobe_parts_free(struct fg_eprobe_parts *parts);

#endif
