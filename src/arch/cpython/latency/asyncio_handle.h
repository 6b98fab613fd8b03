/* asyncio's handles (asyncio.events.Handle, TimerHandle and what derives from them): what they are to
 * run, and when. Read from their slots, so that nothing of the program's runs. */
#ifndef FG_CPYTHON_ASYNCIO_HANDLE_H
#define FG_CPYTHON_ASYNCIO_HANDLE_H

#include "arch/cpython/base/compat/python.h"

/* Where the handles of a type have what they have, in bytes from the object on; 0: it has none. */
struct fg_handle_slots {
    Py_ssize_t callback, when;
};

struct fg_handle_slots fg_handle_slots(PyTypeObject *type);

/* The slots of types are remembered while there is a holder. */
void fg_handle_types_hold(void);
void fg_handle_types_release(void);

static inline PyObject *fg_handle_slot(PyObject *handle, Py_ssize_t offset)
{
    return offset ? *(PyObject **)((char *)handle + offset) : NULL;
}

/* Borrowed, as it is now: a handle that is cancelled has None for it. NULL: the object is no handle, or a
 * new one. */
static inline PyObject *fg_handle_callback(PyObject *handle)
{
    return fg_handle_slot(handle, fg_handle_slots(Py_TYPE(handle)).callback);
}

#endif
