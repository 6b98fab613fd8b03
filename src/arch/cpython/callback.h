/* Running a user's Python function in the middle of the program's own work: what has to be as it was when that goes on.
 *
 * The exception in flight is set aside. The function gets room for nested calls, for the program may be at the end of
 * its own. The program's trace and profile functions do not hear of it. */
#ifndef FG_CPYTHON_CALLBACK_H
#define FG_CPYTHON_CALLBACK_H

#include "compat.h"
#include "engine/compiler.h"
#include "engine/function.h"

#define FG_CALLBACK_ROOM 256 /* nested calls */

struct fg_callback_scope { /* filled in by fg_callback_begin */
    fg_exception exception;
    bool has_exception;
};

#if !FG_HAVE_MONITORING
/* The frame evaluator's next frame in this thread is the function itself: nothing that a callback calls. On 3.12+ no
 * hook hears of it. */
extern _Thread_local bool fg_callback_starts __attribute__((tls_model("initial-exec")));
#endif

/* A thread that is ending has let go of Python: it gets it back for a while. False: the interpreter is ending too, and
 * nothing of Python's can be done; or it is not the main one, to which alone a thread can come back. */
bool fg_callback_attach(const struct fg_func *func, PyGILState_STATE *attached);
void fg_callback_detach(PyGILState_STATE attached);

static inline void fg_callback_is_starting(bool starts)
{
#if !FG_HAVE_MONITORING
    fg_callback_starts = starts;
#else
    (void)starts;
#endif
}

static inline void fg_callback_begin(struct fg_callback_scope *scope, PyThreadState *tstate)
{
    scope->has_exception = fg_exception_is_set(tstate);
    if (fg_unlikely(scope->has_exception))
        scope->exception = fg_exception_set_aside();
    fg_recursion_room(tstate, FG_CALLBACK_ROOM);
    fg_tracing_pause(tstate);
    fg_callback_is_starting(true);
}

/* Calls a function with arguments that have a free place before them. A Python function's own entry is called directly:
 * what PyObject_Vectorcall would check after it holds for it. */
static inline PyObject *fg_callback_call(PyObject *function, PyObject *const *args, size_t nargs)
{
    vectorcallfunc vectorcall =
        PyFunction_Check(function) ? ((PyFunctionObject *)function)->vectorcall : NULL;

    if (fg_likely(vectorcall != NULL))
        return vectorcall(function, args, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    return PyObject_Vectorcall(function, args, nargs | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* Nothing may be raised now. */
static inline void fg_callback_end(const struct fg_callback_scope *scope, PyThreadState *tstate)
{
    fg_callback_is_starting(false);
    fg_tracing_resume(tstate);
    fg_recursion_room(tstate, -FG_CALLBACK_ROOM);
    if (fg_unlikely(scope->has_exception))
        fg_exception_put_back(scope->exception);
}

#endif
