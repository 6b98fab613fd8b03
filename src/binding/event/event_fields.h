/* The fields of an event: their layout, the programs that read them, filters on them. */
#ifndef FG_BINDING_EVENT_FIELDS_H
#define FG_BINDING_EVENT_FIELDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/event/event_object.h"
#include "binding/event/event_program.h"
#include "binding/trigger/hist_plan.h"

/* The fields that a layout has. */
struct fg_hist_fields fg_event_layout_fields(const struct fg_fetch_layout *layout);

/* The event's own. */
struct fg_hist_fields fg_event_described(const struct fg_event_object *self);

/* Has the event have copies of these fields. Return: 0, or -1 with an exception. */
int fg_event_take_fields(struct fg_event_object *self, const struct fg_hist_fields *fields);

/* Makes a program that reads the fields. Return: 0, or -1 with an exception: they are no fields, or others
 * than the event's. */
int fg_event_program(const struct fg_event_object *self, PyObject *fields, struct fg_event_program *program);

/* Return: 0 and *filter, NULL for None; or -1 with an exception. */
int fg_event_new_filter(const struct fg_event_object *self, PyObject *program,
                        struct fg_event_filter **filter);

#endif
