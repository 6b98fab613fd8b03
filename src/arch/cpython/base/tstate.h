/* The thread state that this thread holds. CPython keeps it in a thread variable of its own, which only a call can read: with
 * CPython in a shared library that is two calls, of some 20 instructions, at every event. So we look where the variable
 * lies, once for each thread. */
#ifndef FG_CPYTHON_TSTATE_H
#define FG_CPYTHON_TSTATE_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/compiler.h"

/* CPython's variable of this thread; NULL: it was not looked for, or is not known. */
extern _Thread_local PyThreadState *const *fg_tstate_place __attribute__((tls_model("initial-exec")));

/* Finds out where the variable lies in a thread's block. It lets go of Python for a moment. Again and again: no harm. */
void fg_tstate_init(void);

/* Looks for this thread's. */
FG_COLD PyThreadState *fg_tstate_find(void);

/* The C stack that this thread began with; no bytes: it is not known. CPython 3.11 alone. */
struct fg_thread_stack {
    uintptr_t low;
    size_t bytes;
};
struct fg_thread_stack fg_thread_stack(void);

/* CPython 3.11, whose variable is one for the whole process: what the thread state runs now is run by this thread. It does not
 * say so itself: that of a subinterpreter tells who made it, whoever runs in it. */
bool fg_tstate_runs_here(const PyThreadState *tstate);

/* NULL: this thread holds no thread state. */
static inline PyThreadState *fg_tstate(void)
{
    PyThreadState *const *place = fg_tstate_place;

    return fg_likely(place != NULL) ? *place : fg_tstate_find();
}

/* This thread may touch objects. Before 3.12 the thread state is whosever holds the GIL; the one of
 * PyGILState_GetThisThreadState() is never another interpreter's than the first that the thread was in. */
static inline bool fg_has_tstate(void)
{
    PyThreadState *tstate = fg_tstate();

#if !FG_HAVE_MONITORING
    return tstate && (tstate->thread_id == PyThread_get_thread_ident() || fg_tstate_runs_here(tstate));
#else
    return tstate != NULL;
#endif
}

#endif
