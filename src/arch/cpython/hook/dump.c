/* See dump.h. */
#include "arch/cpython/hook/dump.h"

#include <stdint.h>

#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/unseen.h"

static int print(PyObject *function, uint64_t which)
{
    PyObject *args[] = {PyLong_FromUnsignedLong((unsigned long)(which >> 32)),
                        PyLong_FromUnsignedLong((unsigned long)(uint32_t)which)};
    int error = args[0] && args[1] ? fg_call_unseen(function, args, 2) : -1;

    Py_XDECREF(args[0]);
    Py_XDECREF(args[1]);
    return error;
}

/* Pending calls run in the main interpreter's main thread. */
static int run(void *which)
{
    struct fg_interp *interp = fg_interp_known();

    if (!interp || !interp->print_dump || fg_is_finalizing())
        return 0;
    return print(interp->print_dump, (uint64_t)(uintptr_t)which);
}

_Static_assert(sizeof(void *) == sizeof(uint64_t), "both numbers fit into a pointer");

/* If the queue of pending calls is full, there is no dump. */
void fg_dump_note(int handle, int tid)
{
    Py_AddPendingCall(run, (void *)(uintptr_t)((uint64_t)(uint32_t)handle << 32 | (uint32_t)tid));
}
