/* asyncio's handles (asyncio.events.Handle, TimerHandle and their subclasses): what a handle runs, and
 * when. Both are read from the handle's slots, so no code of the program runs. */
#ifndef FG_CPYTHON_ASYNCIO_HANDLE_H
#define FG_CPYTHON_ASYNCIO_HANDLE_H

#include "arch/cpython/base/compat/python.h"

/* Offsets of a handle type's slots, in bytes from the start of the object; 0: the type has no such slot. */
struct fg_handle_slots {
    Py_ssize_t callback, when;
};

struct fg_handle_slots fg_handle_slots(PyTypeObject *type);

/* The cache of slots lives while at least one user holds it. */
void fg_handle_types_hold(void);
void fg_handle_types_release(void);

static inline PyObject *fg_handle_slot(PyObject *handle, Py_ssize_t offset)
{
    return offset ? *(PyObject **)((char *)handle + offset) : NULL;
}

/* The handle's callback, borrowed. None once the handle is cancelled. NULL: the object is not a handle,
 * or is not initialized yet. */
static inline PyObject *fg_handle_callback(PyObject *handle)
{
    return fg_handle_slot(handle, fg_handle_slots(Py_TYPE(handle)).callback);
}

#endif
