/* See event_base.h. */
#include "binding/event/event_base.h"

#include <errno.h>

#include "binding/base/raise.h"
#include "binding/event/event_fields.h"

int fg_event_listen_to_base(struct fg_event_object *self)
{
    int error = self->base->event ? fg_event_listen(self->base->event, &self->on->probe.listener) : -ENODEV;

    if (error)
        fg_raise_errno(error, NULL);
    return error ? -1 : 0;
}

void fg_event_leave_base(struct fg_event_object *self)
{
    fg_event_unlisten(self->base->event, &self->on->probe.listener);
}

PyObject *fg_event_set_base(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    struct fg_event_filter *filter = NULL;
    struct fg_hist_fields fields;
    PyObject *base, *values, *program;

    if (!self ||
        !PyArg_ParseTuple(args, "O!O!O:set_base", Py_TYPE(object), &base, &PyTuple_Type, &values, &program))
        return NULL;
    if (!self->made || self->base || !fg_event_open(base))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the event cannot be on another one");
    if (fg_event_new_filter((struct fg_event_object *)base, program, &filter) != 0)
        return NULL;
    fields = fg_event_described((struct fg_event_object *)base);
    self->on = fg_eprobe_parts_new(self->made, values, &fields, filter);
    if (!self->on)
        return NULL;
    self->base = (struct fg_event_object *)Py_NewRef(base);
    Py_RETURN_NONE;
}
