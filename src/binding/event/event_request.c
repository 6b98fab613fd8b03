/* See event_request.h. */
#include "binding/event/event_request.h"

#include <stdlib.h>

#include "arch/cpython/register/events.h"
#include "binding/base/raise.h"
#include "binding/event/event_fields.h"
#include "binding/event/event_use.h"
#include "binding/trigger/event_switch.h"
#include "binding/trigger/trigger.h"

int fg_event_drop_stale_triggers(struct fg_event_object *self)
{
    PyObject *handles = PyDict_Keys(self->triggers);
    int error = handles ? 0 : -1;

    for (Py_ssize_t i = 0; !error && i < PyList_GET_SIZE(handles); i++) {
        PyObject *handle = PyList_GET_ITEM(handles, i);
        struct fg_instance *instance = fg_instance_get((int)PyLong_AsLong(handle));

        if (instance)
            fg_instance_put(instance);
        else
            error = PyDict_DelItem(self->triggers, handle);
    }
    Py_XDECREF(handles);
    return error;
}

/* Return: the engine's triggers, which the caller frees; NULL with an exception. */
static struct fg_trigger **triggers_of(const struct fg_event_object *self, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    struct fg_trigger **triggers = malloc(((size_t)n + 1) * sizeof(struct fg_trigger *));

    if (!triggers) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PyTuple_GET_ITEM(tuple, i);

        if (!PyObject_TypeCheck(one, self->trigger_type)) {
            fg_raise_type("triggers", "a tuple of Trigger", one);
            free(triggers);
            return NULL;
        }
        triggers[i] = fg_trigger_of(one);
    }
    return triggers;
}

/* The event keeps the triggers that the engine may use: those that an instance wants now, and in the middle
 * of a change those that it wants next. Return: 0, or -1 with an exception. */
static int keep_triggers(struct fg_event_object *self, int handle, PyObject *tuple, PyObject *soft)
{
    bool keeps = PyTuple_GET_SIZE(tuple) || soft != Py_None;
    PyObject *key = PyLong_FromLong(handle), *pair = keeps ? PyTuple_Pack(2, tuple, soft) : NULL;
    int error = -1;

    if (key && pair)
        error = PyDict_SetItem(self->triggers, key, pair);
    else if (key && !keeps)
        error = PyDict_Contains(self->triggers, key) > 0 ? PyDict_DelItem(self->triggers, key) : 0;
    Py_XDECREF(key);
    Py_XDECREF(pair);
    return error;
}

PyObject *fg_event_set_request(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    struct fg_event_request want = {.records = false};
    struct fg_trigger **triggers;
    PyObject *program, *tuple, *soft = Py_None;
    int handle, records, error;

    if (!self ||
        !PyArg_ParseTuple(args, "ipOO!|O:set", &handle, &records, &program, &PyTuple_Type, &tuple, &soft))
        return NULL;
    if (soft != Py_None && !PyObject_TypeCheck(soft, self->switch_type))
        return fg_raise_type("switch", "an EventSwitch or None", soft);
    triggers = triggers_of(self, tuple);
    if (!triggers)
        return NULL;
    if (fg_event_new_filter(self, program, &want.filter) != 0) {
        free(triggers);
        return NULL;
    }
    want.records = records;
    want.soft = soft == Py_None ? NULL : fg_event_switch_of(soft);
    want.triggers = triggers;
    want.nr_triggers = (uint32_t)PyTuple_GET_SIZE(tuple);
    error = fg_cpython_event_set(self->event, handle, &want);
    free(triggers);
    if (error || (!want.records && !want.nr_triggers))
        fg_event_filter_free(want.filter);
    if (error)
        return fg_event_raise(error);
    if (keep_triggers(self, handle, tuple, soft) != 0 || fg_event_follow_use(self) != 0) {
        fg_cpython_event_set(self->event, handle, &(struct fg_event_request){.records = false});
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *fg_event_get_recorded(PyObject *object, PyObject *handle)
{
    struct fg_event_object *self = fg_event_open(object);
    long number = self ? PyLong_AsLong(handle) : -1;

    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(fg_event_is_recorded(self->event, (int)number));
}
