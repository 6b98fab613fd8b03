/* See event.h. */
#include "binding/event/event.h"

#include <stdlib.h>

#include "binding/base/critical_section.h"
#include "binding/core/state.h"
#include "binding/event/event_base.h"
#include "binding/event/event_fields.h"
#include "binding/event/event_list.h"
#include "binding/event/event_object.h"
#include "binding/event/event_probes.h"
#include "binding/event/event_request.h"
#include "binding/event/event_triggers.h"
#include "binding/event/event_use.h"
#include "engine/users/users.h"

/* ---- life */

/* Nobody records it any longer when this returns. */
static void close_event(struct fg_event_object *self)
{
    struct fg_event_probe *probes = self->probes;
    struct fg_event *event = self->event;

    if (self->is_attached && self->on)
        fg_event_stop(self);
    self->probes = NULL;
    self->event = NULL;
    if (self->made) {
        /* A thread that sets a trigger may have found it before it was removed. */
        atomic_store(&self->made->event, NULL);
        fg_users_synchronize();
    }
    fg_event_free_probes(probes);
    if (event)
        fg_event_free(event);
    if (self->triggers)
        PyDict_Clear(self->triggers); /* one may keep an event whose trigger keeps this one */
}

/* Return: 0, or -1 with an exception. */
static int take_types(struct fg_event_object *self)
{
    PyObject *module = fg_engine_module_of(Py_TYPE(self));

    if (!module)
        return -1;
    self->trigger_type = (PyTypeObject *)Py_NewRef(fg_engine_state(module)->trigger_type);
    self->switch_type = (PyTypeObject *)Py_NewRef(fg_engine_state(module)->event_switch_type);
    self->triggers = PyDict_New();
    return self->triggers ? 0 : -1;
}

/* Return: 0, or -1 with an exception. */
static int make_event(struct fg_event_object *self, const char *system, const char *name, uint32_t fields_at)
{
    if (fg_event_new(system, name, self->layout, fields_at, &self->event) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* An event that probes hit. Return: 0, or -1 with an exception. */
static int make_probed(struct fg_event_object *self, const char *system, const char *name, PyObject *fields)
{
    struct fg_event_program program;
    const struct fg_fetch_layout *layout;
    struct fg_hist_fields its_fields;
    int error;

    if (fg_event_program(self, fields, &program) != 0)
        return -1;
    layout = fg_event_program_layout(&program);
    its_fields = fg_event_layout_fields(layout);
    error = fg_event_take_fields(self, &its_fields) || make_event(self, system, name, layout->fields_at);
    fg_event_program_clear(&program);
    return error ? -1 : 0;
}

/* An event that other events make. Return: 0, or -1 with an exception. */
static int make_made(struct fg_event_object *self, const char *system, const char *name, PyObject *fields,
                     PyObject *limits)
{
    const char **names = NULL;
    int error = -1;

    self->made = fg_derived_event_of(fields, limits, &names);
    if (self->made) {
        struct fg_hist_fields its_fields = {names, self->made->form.fields, self->made->form.nr_fields, 0};

        error = fg_event_take_fields(self, &its_fields) ||
                        make_event(self, system, name, FG_EVENT_PLAIN_FIELDS_AT)
                    ? -1
                    : 0;
    }
    if (error == 0)
        atomic_store(&self->made->event, self->event);
    free(names);
    return error;
}

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"system", "name",      "fields",    "is_return",
                            "limits", "is_static", "is_native", NULL};
    struct fg_event_object *self;
    const char *system, *name;
    PyObject *fields, *limits = Py_None;
    int is_return = 0, is_static = 0, is_native = 0, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssO|$pOpp:Event", names, &system, &name, &fields,
                                     &is_return, &limits, &is_static, &is_native))
        return NULL;
    self = (struct fg_event_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->place = is_static ? FG_FETCH_AT_NO_FUNCTION : is_return ? FG_FETCH_AT_RETURN : FG_FETCH_AT_ENTRY;
    self->is_native = is_native;
    error = take_types(self);
    if (!error)
        error = limits == Py_None ? make_probed(self, system, name, fields)
                                  : make_made(self, system, name, fields, limits);
    if (!error && fg_event_enlist((PyObject *)self) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void event_dealloc(PyObject *object)
{
    struct fg_event_object *self = (struct fg_event_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    close_event(self);
    fg_eprobe_parts_free(self->on);
    free(self->made);
    Py_XDECREF(self->base);
    free(self->layout);
    free(self->names);
    free(self->fields);
    Py_XDECREF(self->triggers);
    Py_XDECREF(self->trigger_type);
    Py_XDECREF(self->switch_type);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *event_close(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    close_event((struct fg_event_object *)object);
    fg_event_unlist(object);
    Py_RETURN_NONE;
}

/* ---- attributes */

static PyObject *get_number(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_event_object *self = fg_event_open(object);

    return self ? PyLong_FromUnsignedLong(self->event->number) : NULL;
}

static bool makes(const struct fg_trigger *trigger, const void *made)
{
    const struct fg_derived_event *event = made;

    return trigger->kind == FG_TRIGGER_HIST && fg_hist_actions_have(&trigger->actions, &event->sink);
}

static PyObject *get_used(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_event_object *self = fg_event_open(object);

    if (!self)
        return NULL;
    return PyBool_FromLong(fg_event_is_used(self->event) ||
                           (self->made && fg_event_find_trigger(makes, self->made)));
}

static PyObject *get_is_base(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_event_object *self = fg_event_open(object);

    return self ? PyBool_FromLong(fg_event_has_listeners(self->event)) : NULL;
}

static PyObject *get_layout(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(((struct fg_event_object *)object)->layout);
}

static PyObject *get_fields_at(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_event_object *self = fg_event_open(object);

    return self ? PyLong_FromUnsignedLong(self->event->fields_at) : NULL;
}

static PyObject *get_faults(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(fg_event_faults((struct fg_event_object *)object));
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_event_object *self = (struct fg_event_object *)object;

    return PyLong_FromUnsignedLongLong(self->made ? atomic_load(&self->made->nmissed)
                                                  : fg_event_nmissed(self));
}

FG_ALONE(fg_event_add_probe)
FG_ALONE(fg_event_add_static_probe)
FG_ALONE(fg_event_add_place)
FG_ALONE(fg_event_remove_probe)
FG_ALONE(fg_event_set_request)
FG_ALONE(event_close)

static PyGetSetDef attributes[] = {
    {"number", get_number, NULL, "Number of the event in this process.", NULL},
    {"used", get_used, NULL, "Whether an instance, a trigger or another event uses it.", NULL},
    {"is_base", get_is_base, NULL, "Whether an event on its fields is used.", NULL},
    {"layout", get_layout, NULL, "`TYPE NAME COUNT OFFSET` of each field, joined by ';'.", NULL},
    {"fields_at", get_fields_at, NULL, "Where they begin in its image, in bytes.", NULL},
    {"faults", get_faults, NULL, "How many fields could not be read.", NULL},
    {"nmissed", get_nmissed, NULL,
     "Calls that its probes missed; of an event that others make, hits that would have made "
     "it in itself.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"add_probe", fg_event_add_probe_alone, METH_VARARGS,
     "add_probe(functions, fields, is_pending): hit the event at functions that match the patterns; "
     "is_pending: "
     "also if none matches yet."},
    {"add_static_probe", fg_event_add_static_probe_alone, METH_VARARGS,
     "add_static_probe(index, fields): hit the event at hits of the static event with this index."},
    {"add_place", fg_event_add_place_alone, METH_VARARGS,
     "add_place(function, line, offset, fields): hit the event at a place in functions with this name; line "
     "0: "
     "at the offset."},
    {"probe_counts", fg_event_probe_counts, METH_NOARGS,
     "probe_counts() -> list[tuple[int, int]]: hits and missed hits of each probe, the oldest first."},
    {"remove_probe", fg_event_remove_probe_alone, METH_O,
     "remove_probe(index): remove the probe that was added as that one."},
    {"set_base", fg_event_set_base, METH_VARARGS,
     "set_base(event, values, filter): have the hits of another event make this one."},
    {"trigger", fg_event_make_trigger, METH_VARARGS,
     "trigger(name, count, filter, plan, target, links) -> Trigger: make one for its hits."},
    {"set", fg_event_set_request_alone, METH_VARARGS,
     "set(handle, records, filter, triggers, switch=None): say what the instance wants of the event."},
    {"is_recorded", fg_event_get_recorded, METH_O,
     "is_recorded(handle) -> bool: whether the instance records it."},
    {"close", event_close_alone, METH_NOARGS, "close(): remove the event with its probes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A kind of event with its probes; see the type stub."},
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_event_spec = {
    .name = "funcgraph._engine.Event",
    .basicsize = sizeof(struct fg_event_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
