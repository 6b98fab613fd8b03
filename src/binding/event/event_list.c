/* See event_list.h. */
#include "binding/event/event_list.h"

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/register/events.h"
#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/core/state.h"
#include "binding/event/event_request.h"
#include "binding/event/event_use.h"

int fg_event_enlist(PyObject *object)
{
    struct fg_interp *interp = fg_engine_here();

    if (interp && !interp->events)
        interp->events = PyList_New(0);
    return interp && interp->events ? PyList_Append(interp->events, object) : -1;
}

void fg_event_unlist(PyObject *object)
{
    struct fg_interp *interp = fg_interp_known();
    Py_ssize_t n = interp && interp->events ? PyList_GET_SIZE(interp->events) : 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyList_GET_ITEM(interp->events, i) == object) {
            PyList_SetSlice(interp->events, i, i + 1, NULL);
            return;
        }
    }
}

static bool is_any(const struct fg_event_object *self)
{
    return self->event && self->is_attached;
}

/* Takes the probes of some events off. An exception that is set stays. */
static void detach_if(struct fg_interp *interp, bool (*is_meant)(const struct fg_event_object *self))
{
    fg_exception before = fg_exception_set_aside();
    PyObject *all = interp->events ? PyList_AsTuple(interp->events) : NULL;

    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        struct fg_event_object *self = (struct fg_event_object *)PyTuple_GET_ITEM(all, i);

        Py_BEGIN_CRITICAL_SECTION(self);
        if (is_meant(self))
            fg_event_stop(self);
        if (fg_event_drop_stale_triggers(self) != 0)
            PyErr_Clear(); /* they go with the event */
        Py_END_CRITICAL_SECTION();
    }
    Py_XDECREF(all);
    fg_exception_put_back(before);
}

static void detach_unused(struct fg_interp *interp)
{
    detach_if(interp, fg_event_is_idle);
}

void fg_event_begin(void)
{
    fg_cpython_on_instance_stopped(detach_unused);
}

void fg_event_end(void)
{
    struct fg_interp *interp = fg_interp_known();

    if (interp)
        detach_if(interp, is_any);
}
