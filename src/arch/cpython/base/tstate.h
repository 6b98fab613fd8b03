/* The thread state that this thread holds, read without a call.
 *
 * CPython keeps it in a thread-local variable of its own. With CPython in a shared library, reading it
 * takes two calls of some 20 instructions at every event. So each thread finds the address of its
 * variable once. */
#ifndef FG_CPYTHON_TSTATE_H
#define FG_CPYTHON_TSTATE_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/compiler.h"

/* CPython's variable of this thread; NULL: not looked for yet, or not found. */
extern _Thread_local PyThreadState *const *fg_tstate_place __attribute__((tls_model("initial-exec")));

/* Finds the offset of the variable in a thread's TLS block. Detaches the thread state for a moment. May
 * run again. */
void fg_tstate_init(void);

/* Finds this thread's variable. Returns its value. */
FG_COLD PyThreadState *fg_tstate_find(void);

/* The C stack that this thread began with; 0 bytes: not known. Only for CPython 3.11. */
struct fg_thread_stack {
    uintptr_t low;
    size_t bytes;
};
struct fg_thread_stack fg_thread_stack(void);

/* CPython 3.11, where one variable serves the whole process: true if this thread runs what the thread
 * state runs. The thread_id of a subinterpreter's thread state is the thread that made it, whichever
 * thread runs in it. */
bool fg_tstate_runs_here(const PyThreadState *tstate);

/* NULL: this thread holds no thread state. Signal-safe once the thread has found its variable. */
static inline PyThreadState *fg_tstate(void)
{
    PyThreadState *const *place = fg_tstate_place;

    return fg_likely(place != NULL) ? *place : fg_tstate_find();
}

/* This thread may touch objects. Before 3.12 the variable has the thread state of the thread that holds
 * the GIL. PyGILState_GetThisThreadState() is no help: it is always that of the first interpreter that
 * the thread was in. */
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
