/* Running a user's Python function in the middle of the program's own work, and restoring the thread's
 * state afterwards.
 *
 * The exception that is set is saved. The function gets room for nested calls, because the program may
 * have used up its own. The program's trace and profile functions and other tools are not called for
 * it. Our hooks are called, so that calls made by the function are counted as missed. From 3.12 on they
 * are called only if no other tool would be called too. */
#ifndef FG_CPYTHON_CALLBACK_H
#define FG_CPYTHON_CALLBACK_H

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/base/compat/thread.h"
#include "engine/base/compiler.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"

#define FG_CALLBACK_ROOM 256 /* nested calls */

struct fg_callback_scope { /* filled in by fg_callback_begin */
    struct fg_callback_scope *outer;
    void *holder;       /* the object that the callback belongs to; may be NULL */
    fg_pyframe *caller; /* the thread's newest frame when the callback began */
    bool is_prepared;   /* the members below are set */
    bool has_exception;
    fg_exception exception;
#if FG_HAVE_MONITORING
    int tracing; /* the thread state's, before the callback */
#endif
};

/* The innermost callback in progress in this thread, or NULL. */
extern _Thread_local struct fg_callback_scope *fg_callback_scope __attribute__((tls_model("initial-exec")));

/* Not 0 while this thread runs code on our behalf. The guard is held, and calls that the thread makes
 * are neither traced nor counted as missed. */
extern _Thread_local unsigned fg_untraced __attribute__((tls_model("initial-exec")));

/* True at the entry of a callback itself, as opposed to a call that the callback makes: its caller is the
 * frame that was newest when the callback began. */
FG_COLD bool fg_callback_is_own_call(const struct ftrace_regs *regs);

/**
 * fg_callback_attach() - Give a thread its thread state back for a callback.
 * @func: the function whose callback is to run
 * @attached: for fg_callback_detach()
 *
 * A thread that ends in the middle of traced calls has already released its thread state.
 *
 * Return: false: the interpreter is ending too, or is not the main one. A thread can attach again to the
 * main interpreter only.
 */
bool fg_callback_attach(const struct fg_func *func, PyGILState_STATE *attached);
void fg_callback_detach(PyGILState_STATE attached);

/* True if the thread needs no preparation. This is so in nearly every hook of sys.monitoring, and never
 * on 3.11. */
static inline bool fg_callback_is_ready(PyThreadState *tstate)
{
    return !fg_exception_is_set(tstate) && fg_recursion_has_room(tstate, FG_CALLBACK_ROOM) &&
           fg_tracing_is_paused(tstate);
}

FG_COLD void fg_callback_prepare(struct fg_callback_scope *scope, PyThreadState *tstate);
FG_COLD void fg_callback_restore(const struct fg_callback_scope *scope, PyThreadState *tstate);

/* CPython fires no tool events for code that runs in a callback of any tool. If we are the only tool,
 * switch them on. */
static inline void fg_callback_events_on(struct fg_callback_scope *scope, PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    scope->tracing = tstate->tracing;
    if (fg_likely(fg_is_only_tool(tstate)))
        tstate->tracing = 0;
#else
    (void)scope, (void)tstate;
#endif
}

static inline void fg_callback_events_off(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing = scope->tracing;
#else
    (void)scope, (void)tstate;
#endif
}

/* Prepares the thread for a callback; fg_callback_end() undoes it. `newest` is the thread's newest
 * frame. */
static inline void fg_callback_begin(struct fg_callback_scope *scope, void *holder, PyThreadState *tstate,
                                     fg_pyframe *newest)
{
    scope->holder = holder;
    scope->is_prepared = !fg_callback_is_ready(tstate);
    if (fg_unlikely(scope->is_prepared))
        fg_callback_prepare(scope, tstate);
    fg_callback_events_on(scope, tstate);
    scope->caller = newest;
    scope->outer = fg_callback_scope;
    fg_callback_scope = scope;
}

/* Calls a function. The word before @args must be free. A Python function's vectorcall is called
 * directly: it always has one, and the checks that PyObject_Vectorcall() would add always pass for it. */
static inline PyObject *fg_callback_call(PyObject *function, PyObject *const *args, size_t nargs)
{
    vectorcallfunc vectorcall = PyObject_Vectorcall;

    if (fg_likely(PyFunction_Check(function)))
        vectorcall = ((PyFunctionObject *)function)->vectorcall;
    return vectorcall(function, args, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Call with no exception set. */
static inline void fg_callback_end(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
    fg_callback_scope = scope->outer;
    fg_callback_events_off(scope, tstate);
    if (fg_unlikely(scope->is_prepared))
        fg_callback_restore(scope, tstate);
}

#endif
