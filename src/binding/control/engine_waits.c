/* See engine_waits.h. */
#include "binding/control/engine_waits.h"

#include <stdatomic.h>
#include <stdbool.h>

static _Atomic(const struct fg_waits *) engine_waits;

void fg_engine_waits_hide_thread(void)
{
    static _Thread_local bool is_hidden;
    const struct fg_waits *waits = atomic_load(&engine_waits);

    if (!waits || is_hidden)
        return;
    is_hidden = true;
    waits->hide_thread();
}

static void take(PyObject *engine, void (*woken)(void))
{
    PyObject *capsule;
    const struct fg_waits *waits;

    capsule = PyObject_GetAttrString(engine, FG_WAITS_ATTRIBUTE);
    waits = capsule ? PyCapsule_GetPointer(capsule, FG_WAITS_CAPSULE) : NULL;
    Py_XDECREF(capsule);
    PyErr_Clear();
    if (!waits)
        return;
    waits->on_wake(woken);
    atomic_store(&engine_waits, waits);
}

void fg_engine_waits_take(PyObject *engine, void (*woken)(void))
{
    if (!atomic_load(&engine_waits))
        take(engine, woken);
    fg_engine_waits_hide_thread();
}

enum fg_news fg_engine_waits_request(int handle, uint32_t seen)
{
    const struct fg_waits *waits = atomic_load(&engine_waits);

    return waits ? waits->poll(handle, seen) : FG_NEWS;
}
