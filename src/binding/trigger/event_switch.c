/* See event_switch.h. */
#include "binding/trigger/event_switch.h"

/* The Event and each Trigger that the engine uses it with hold a reference. */
struct switch_object {
    PyObject_HEAD struct fg_event_switch state;
};

struct fg_event_switch *fg_event_switch_of(PyObject *object)
{
    return &((struct switch_object *)object)->state;
}

static void switch_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *get_on(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(atomic_load(&fg_event_switch_of(object)->is_on));
}

static int set_on(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    int on = value ? PyObject_IsTrue(value) : 0;

    if (on < 0)
        return -1;
    atomic_store(&fg_event_switch_of(object)->is_on, on);
    return 0;
}

static PyGetSetDef attributes[] = {
    {"on", get_on, set_on, "Whether the hits are recorded.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Whether an instance records the hits of an event; see the type stub."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, switch_dealloc},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_event_switch_spec = {
    .name = "funcgraph._engine.EventSwitch",
    .basicsize = sizeof(struct switch_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
