/* The thread state that this thread holds, read without a call.
 *
 * CPython keeps it in a thread-local variable of its own. With CPython in a shared library, reading it
 * takes two calls of some 20 instructions at every event. So each thread finds the address of its
 * variable once. */
#ifndef FG_CPYTHON_TSTATE_H
#define FG_CPYTHON_TSTATE_H

#include "arch/cpython/base/compat/python.h"

#include "engine/base/compiler.h"

/* The address of CPython's variable in this thread; NULL: not found, or not yet looked for. */
extern _Thread_local PyThreadState *const *fg_tstate_place __attribute__((tls_model("initial-exec")));

/* Finds the offset of the variable in a thread's TLS block. Detaches the thread state for a moment. May
 * be called again. */
void fg_tstate_init(void);

/* Finds this thread's variable. Return: its value. */
FG_COLD PyThreadState *fg_tstate_find(void);

/* The C stack with which this thread began; 0 bytes: not known. Only for CPython 3.11. */
struct fg_thread_stack {
    uintptr_t low;
    size_t bytes;
};
struct fg_thread_stack fg_thread_stack(void);

/* True if this thread runs the code of the thread state. For CPython 3.11, where one variable serves
 * the whole process. A subinterpreter's thread state has the thread_id of the thread that made it,
 * whichever thread runs in it. */
bool fg_tstate_runs_here(const PyThreadState *tstate);

/* The thread state of this thread; NULL: it holds none. Signal-safe once the thread has found its
 * variable. */
static inline PyThreadState *fg_tstate(void)
{
    PyThreadState *const *place = fg_tstate_place;

    return fg_likely(place != NULL) ? *place : fg_tstate_find();
}

/* True if this thread may touch Python objects. Before 3.12 the variable holds the thread state of
 * whichever thread has the GIL. PyGILState_GetThisThreadState() does not help: it always returns the
 * thread state of the first interpreter that the thread was in. */
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
