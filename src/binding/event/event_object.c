/* See event_object.h. */
#include "binding/event/event_object.h"

#include <errno.h>

#include "binding/base/raise.h"

struct fg_event_object *fg_event_open(PyObject *object)
{
    struct fg_event_object *self = (struct fg_event_object *)object;

    if (self->event)
        return self;
    PyErr_SetString(PyExc_ValueError, "the event is closed");
    return NULL;
}

PyObject *fg_event_raise(int error)
{
    if (error == -ENOENT)
        return fg_raise_os_error(ENOENT, PyUnicode_FromString("no function matches"));
    return PyErr_Occurred() ? NULL : fg_raise_errno(error, NULL);
}
