/* Fields of a thread state: the recursion limit, and whether trace functions are paused. Also: the main
 * thread. */
#ifndef FG_COMPAT_THREAD_H
#define FG_COMPAT_THREAD_H

#include "arch/cpython/base/compat/python.h"

#include "internal/pycore_pystate.h"
#include "internal/pycore_runtime.h"

/* The thread state that this thread holds, or NULL. Calls CPython; fg_tstate() is the faster way. */
static inline PyThreadState *fg_tstate_unchecked(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyThreadState_GetUnchecked();
#else
    return _PyThreadState_UncheckedGet();
#endif
}

/* True in the thread in which signal handlers run. From 3.14 on CPython's own function for this is not
 * exported. */
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

/* True if @calls more nested calls fit into the recursion limit. From 3.12 on CPython counts calls of
 * Python and of C functions separately. From 3.14 on it measures the C stack instead of counting C
 * calls. */
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

/* Makes room for @calls more nested calls. The limit that the program set does not change. */
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

/* True while the program's trace and profile functions are not called. From 3.12 on CPython pauses them
 * around every callback of sys.monitoring. It does not where we learn of a return in other ways
 * (gen_close.c). */
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
/* Recomputes `use_tracing` after one of its inputs has changed. */
static inline void fg_tracing_update(PyThreadState *tstate)
{
    tstate->cframe->use_tracing =
        tstate->tracing == 0 && (tstate->c_tracefunc || tstate->c_profilefunc) ? 255 : 0;
}
#endif

#endif
