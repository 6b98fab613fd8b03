/* Running a user's Python function in the middle of the program's own work: what has to be as it was when that goes on.
 *
 * The exception in flight is set aside. The function gets room for nested calls, for the program may be at the end of
 * its own. The program's trace and profile functions, and other tools, do not hear of it. We do, so that what the function
 * calls is counted as missed; but from 3.12 on only where nobody else would hear of it as well. */
#ifndef FG_CPYTHON_CALLBACK_H
#define FG_CPYTHON_CALLBACK_H

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/base/compat/thread.h"
#include "engine/core/compiler.h"
#include "engine/core/function.h"
#include "engine/core/regs.h"

#define FG_CALLBACK_ROOM 256 /* nested calls */

struct fg_callback_scope { /* filled in by fg_callback_begin */
    struct fg_callback_scope *outer;
    void *holder;       /* what it is part of, if that is of a kind that others look for */
    fg_pyframe *caller; /* the thread's newest frame when it began */
    bool is_prepared;   /* then: */
    bool has_exception;
    fg_exception exception;
#if FG_HAVE_MONITORING
    int tracing; /* the thread state's */
#endif
};

/* The innermost one that runs in this thread, or NULL. */
extern _Thread_local struct fg_callback_scope *fg_callback_scope __attribute__((tls_model("initial-exec")));

/* This thread works for us: nothing that it calls is traced, nor counted as missed: the guard is held meanwhile. */
extern _Thread_local unsigned fg_untraced __attribute__((tls_model("initial-exec")));

/* The call that these regs are of, at its entry, is one of a callback, not one that it makes: it comes from where the
 * callback began. */
FG_COLD bool fg_callback_is_own_call(const struct ftrace_regs *regs);

/* A thread that is ending has let go of Python: it gets it back for a while. False: the interpreter is ending too, and
 * nothing of Python's can be done; or it is not the main one, to which alone a thread can come back. */
bool fg_callback_attach(const struct fg_func *func, PyGILState_STATE *attached);
void fg_callback_detach(PyGILState_STATE attached);

/* There is nothing to prepare: so it is in nearly every hook of sys.monitoring, and never on 3.11. */
static inline bool fg_callback_is_ready(PyThreadState *tstate)
{
    return !fg_exception_is_set(tstate) && fg_recursion_has_room(tstate, FG_CALLBACK_ROOM) &&
           fg_tracing_is_paused(tstate);
}

FG_COLD void fg_callback_prepare(struct fg_callback_scope *scope, PyThreadState *tstate);
FG_COLD void fg_callback_restore(const struct fg_callback_scope *scope, PyThreadState *tstate);

/* CPython tells no tool of what runs in a callback of any. */
static inline void fg_callback_hear(struct fg_callback_scope *scope, PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    scope->tracing = tstate->tracing;
    if (fg_likely(fg_is_only_tool(tstate)))
        tstate->tracing = 0;
#else
    (void)scope, (void)tstate;
#endif
}

static inline void fg_callback_hear_no_more(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
#if FG_HAVE_MONITORING
    tstate->tracing = scope->tracing;
#else
    (void)scope, (void)tstate;
#endif
}

/* `newest` is the thread's newest frame. */
static inline void fg_callback_begin(struct fg_callback_scope *scope, void *holder, PyThreadState *tstate,
                                     fg_pyframe *newest)
{
    scope->holder = holder;
    scope->is_prepared = !fg_callback_is_ready(tstate);
    if (fg_unlikely(scope->is_prepared))
        fg_callback_prepare(scope, tstate);
    fg_callback_hear(scope, tstate);
    scope->caller = newest;
    scope->outer = fg_callback_scope;
    fg_callback_scope = scope;
}

/* Calls a function with arguments that have a free place before them. A Python function's own entry, which it always
 * has, is called directly: what PyObject_Vectorcall would check after it holds for it. */
static inline PyObject *fg_callback_call(PyObject *function, PyObject *const *args, size_t nargs)
{
    vectorcallfunc vectorcall = PyObject_Vectorcall;

    if (fg_likely(PyFunction_Check(function)))
        vectorcall = ((PyFunctionObject *)function)->vectorcall;
    return vectorcall(function, args, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Nothing may be raised now. */
static inline void fg_callback_end(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
    fg_callback_scope = scope->outer;
    fg_callback_hear_no_more(scope, tstate);
    if (fg_unlikely(scope->is_prepared))
        fg_callback_restore(scope, tstate);
}

#endif
