/* See waits.h. */
#include "binding/engine/waits.h"

#include <errno.h>

#include "binding/base/waits.h"
#include "binding/engine/instance_object.h"
#include "engine/core/self.h"
#include "engine/writer/ring_wait.h"

#define LONGEST_S 3600.0

PyObject *fg_instance_py_wait(PyObject *self, PyObject *args)
{
    struct fg_instance *instance;
    unsigned int seen;
    double timeout_s;
    int error;

    if (!PyArg_ParseTuple(args, "Id:wait", &seen, &timeout_s))
        return NULL;
    timeout_s = timeout_s > 0 ? timeout_s : 0;
    instance = fg_instance_take(self);
    if (!instance)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_ring_wait(&instance->ring, seen,
                         (unsigned)(1000 * (timeout_s < LONGEST_S ? timeout_s : LONGEST_S)));
    fg_instance_put(instance);
    Py_END_ALLOW_THREADS;
    if (error == -EINTR && PyErr_CheckSignals() != 0)
        return NULL;
    return PyBool_FromLong(!error);
}

static enum fg_news poll(int handle, uint32_t seen)
{
    struct fg_instance *instance = fg_instance_get(handle);
    enum fg_ring_news news = instance ? fg_ring_await(&instance->ring, seen) : FG_RING_NEWS;

    if (instance)
        fg_instance_put(instance);
    return news == FG_RING_IDLE ? FG_NO_NEWS : news == FG_RING_BUSY ? FG_NEWS_SOON : FG_NEWS;
}

static void hide_thread(void)
{
    fg_native_hide();
}

static const struct fg_waits waits = {poll, fg_ring_on_wake, hide_thread};

int fg_waits_add(PyObject *module)
{
    /* The cast removes const: readers of the capsule do not write to the table. */
    PyObject *capsule = PyCapsule_New((void *)(uintptr_t)&waits, FG_WAITS_CAPSULE, NULL);
    int error = capsule ? PyModule_AddObjectRef(module, FG_WAITS_ATTRIBUTE, capsule) : -1;

    Py_XDECREF(capsule);
    return error;
}
