/* What a thread's state says: room for nested calls, whether trace functions are paused; and the main
 * thread. */
#ifndef FG_COMPAT_THREAD_H
#define FG_COMPAT_THREAD_H

#include "arch/cpython/base/compat/python.h"
#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"

/* The thread state that this thread holds, or NULL: by a call. */
static inline PyThreadState *fg_tstate_ask(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* The one that signal handlers run in. From 3.14 on CPython's own function for it is not exported. */
static inline bool fg_is_main_thread(void)
{
    return PyThread_get_thread_ident() == _PyRuntime.main_thread;
}

static inline bool fg_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

static inline int fg_recursion_limit(const PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030C0000
    return tstate->py_recursion_limit;
#else
    return tstate->recursion_limit;
#endif
}

/* Nested calls that there is room for. From 3.12 on calls of Python and of C functions count apart, and
 * from 3.14 on C stack is measured. */
static inline bool fg_recursion_has_room(PyThreadState *tstate, int calls)
{
#if PY_VERSION_HEX >= 0x030E0000
    return tstate->py_recursion_remaining >= calls;
#elif PY_VERSION_HEX >= 0x030C0000
    return tstate->py_recursion_remaining >= calls && tstate->c_recursion_remaining >= calls;
#else
    return tstate->recursion_remaining >= calls;
#endif
}

/* Room for so many more; the limit that the program set stays what it is. */
static inline void fg_recursion_room(PyThreadState *tstate, int calls)
{
#if PY_VERSION_HEX >= 0x030C0000
    tstate->py_recursion_remaining += calls;
#if PY_VERSION_HEX < 0x030E0000
    tstate->c_recursion_remaining += calls;
#endif
#else
    tstate->recursion_remaining += calls;
#endif
}

/* The program's trace and profile functions hear nothing. From 3.12 on CPython sees to that around every
 * callback of sys.monitoring, but not where we are told of ends by other ways (gen_close.c). */
static inline bool fg_tracing_is_paused(PyThreadState *tstate)
{
    return tstate->tracing > 0;
}

static inline void fg_tracing_pause(PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing++; /* PyThreadState_EnterTracing, without the call */
#else
    PyThreadState_EnterTracing(tstate);
#endif
}

static inline void fg_tracing_resume(PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing--;
#else
    PyThreadState_LeaveTracing(tstate);
#endif
}

#if !FG_HAVE_MONITORING
/* After a change of what `use_tracing` follows from. */
static inline void fg_tracing_update(PyThreadState *tstate)
{
    tstate->cframe->use_tracing =
        tstate->tracing == 0 && (tstate->c_tracefunc || tstate->c_profilefunc) ? 255 : 0;
}
#endif

#endif
