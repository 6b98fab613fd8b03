/* See event_triggers.h. */
#include "binding/event/event_triggers.h"

#include "binding/event/event_fields.h"
#include "binding/trigger/event_switch.h"
#include "binding/trigger/trigger.h"

/* What a trigger of a kind acts on: NULL: nothing else. */
static PyTypeObject *target_type(const struct fg_event_object *self, int kind)
{
    switch (kind) {
    case FG_TRIGGER_ENABLE_EVENT:
    case FG_TRIGGER_DISABLE_EVENT:
        return self->switch_type;
    case FG_TRIGGER_ENABLE_HIST:
    case FG_TRIGGER_DISABLE_HIST:
        return Py_TYPE(self);
    default:
        return NULL;
    }
}

/* Return: a kind with its plan and its target; -1 with ValueError. */
static int kind_of(const struct fg_event_object *self, const char *name, PyObject *plan, PyObject *target)
{
    int kind = fg_trigger_by_name(name);
    PyTypeObject *type = target_type(self, kind);
    bool has_target = type ? PyObject_TypeCheck(target, type) : target == Py_None;

    if (kind >= 0 && has_target && (plan != Py_None) == (kind == FG_TRIGGER_HIST))
        return kind;
    PyErr_Format(PyExc_ValueError, "no such trigger: %s", name);
    return -1;
}

/* An event outlives its own triggers. */
static void set_target(const struct fg_event_object *self, PyObject *made, PyObject *target)
{
    if (PyObject_TypeCheck(target, self->switch_type))
        fg_trigger_set_target(made, target, fg_event_switch_of(target), NULL);
    else if (target != Py_None)
        fg_trigger_set_target(made, target == (PyObject *)self ? NULL : target, NULL,
                              ((struct fg_event_object *)target)->event);
}

static struct fg_hist_sink *sink_of(PyObject *object)
{
    struct fg_derived_event *made = ((struct fg_event_object *)object)->made;

    return made ? &made->sink : NULL;
}

PyObject *fg_event_make_trigger(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    struct fg_hist_fields fields;
    struct fg_event_filter *filter;
    PyObject *program, *plan, *target, *links, *made;
    const char *name;
    long long count;
    int kind;

    if (!self || !PyArg_ParseTuple(args, "sLOOOO:trigger", &name, &count, &program, &plan, &target, &links))
        return NULL;
    kind = kind_of(self, name, plan, target);
    if (kind < 0)
        return NULL;
    if (fg_event_new_filter(self, program, &filter) != 0)
        return NULL;
    made = PyType_GenericAlloc(self->trigger_type, 0);
    if (!made) {
        fg_event_filter_free(filter);
        return NULL;
    }
    fg_trigger_fill(made, kind, count, filter);
    set_target(self, made, target);
    fields = fg_event_described(self);
    if (kind == FG_TRIGGER_HIST &&
        fg_trigger_make_hist(made, plan, links, &fields,
                             &(struct fg_event_type_of){Py_TYPE(object), sink_of}) != 0)
        Py_CLEAR(made);
    return made;
}
