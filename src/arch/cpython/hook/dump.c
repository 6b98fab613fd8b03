/* See dump.h. */
#include "arch/cpython/hook/dump.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/unseen.h"
#include "engine/core/task.h"

#define NOTES 16u

/* Of hits in native code. A note is 1 more than what it says; 0: free. */
static _Atomic uint64_t notes[NOTES];
static _Atomic uint32_t nr_noted; /* ever; a futex */

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

/* syscall() is no cancellation point, as a function of the C library might be. */
static void futex(int operation, uint32_t value)
{
    syscall(SYS_futex, &nr_noted, operation, value, NULL, NULL, 0);
}

/* If there is no room, there is no dump. */
static void leave_note(uint64_t which)
{
    for (size_t i = 0; i < NOTES; i++) {
        uint64_t free = 0;

        if (!atomic_compare_exchange_strong(&notes[i], &free, which + 1))
            continue;
        atomic_fetch_add(&nr_noted, 1);
        futex(FUTEX_WAKE_PRIVATE, 1);
        return;
    }
}

/* If the queue of pending calls is full, there is no dump. */
void fg_dump_note(int handle, int tid)
{
    uint64_t which = (uint64_t)(uint32_t)handle << 32 | (uint32_t)tid;

    if (fg_task_self && fg_task_is_in_native(fg_task_self))
        leave_note(which);
    else
        Py_AddPendingCall(run, (void *)(uintptr_t)which);
}

static bool has_note(void)
{
    for (size_t i = 0; i < NOTES; i++) {
        if (atomic_load(&notes[i]))
            return true;
    }
    return false;
}

void fg_dump_wait(void)
{
    uint32_t seen = atomic_load(&nr_noted); /* before looking: a later note ends the wait at once */

    if (!has_note())
        futex(FUTEX_WAIT_PRIVATE, seen);
}

bool fg_dump_take(int *handle, int *tid)
{
    for (size_t i = 0; i < NOTES; i++) {
        uint64_t note = atomic_exchange(&notes[i], 0);

        if (!note)
            continue;
        *handle = (int)((note - 1) >> 32);
        *tid = (int)(note - 1);
        return true;
    }
    return false;
}
