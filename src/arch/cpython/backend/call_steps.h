/* Reporting a call to the engine: the steps that both backends share. */
#ifndef FG_CPYTHON_CALL_STEPS_H
#define FG_CPYTHON_CALL_STEPS_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "engine/base/compiler.h"
#include "engine/core/public.h"
#include "engine/core/regs.h"
#include "engine/core/task.h"
#include "engine/graph/call.h"
#include "engine/graph/suspended.h"

/* `tstate` may be NULL. Hooks with frequent events pass it, because a callback in Python needs it and
 * looking it up costs time. */
static inline struct ftrace_regs fg_regs_of(PyThreadState *tstate, fg_pyframe *frame, PyObject *value)
{
    return (struct ftrace_regs){&fg_python_regs_ops, frame, value, tstate};
}

/* A generator begins at this address. If a call is still parked under the address, it ended without an
 * event: end it now. */
static inline void fg_abandon_parked(struct fg_task *task, const fg_pyframe *frame)
{
    struct ftrace_regs regs = fg_no_regs();

    fg_abandon(task, (uintptr_t)frame, &regs);
}

/* How a call that raises ends. A generator is closed with GeneratorExit. */
static inline enum fg_end fg_end_by(PyObject *exception, const PyCodeObject *code)
{
    return PyErr_GivenExceptionMatches(exception, PyExc_GeneratorExit) && fg_code_is_generator(code)
               ? FG_END_CLOSE
               : FG_END_RAISE;
}

/* ---- C functions: the caller's frame identifies the call */

static inline struct fg_c_function_regs fg_c_function_regs(fg_pyframe *caller, PyObject *callable,
                                                           PyObject *argument)
{
    return (struct fg_c_function_regs){{&fg_c_function_regs_ops, caller, argument, NULL}, callable};
}

/* `argument` is the first argument; NULL: there is none, or it is not known. */
static inline void fg_c_call_enter(struct fg_task *task, struct fg_func *func, fg_pyframe *caller,
                                   PyObject *callable, PyObject *argument)
{
    struct fg_c_function_regs regs = fg_c_function_regs(caller, callable, argument);

    fg_enter(task, func, fg_cfunction_fp(caller), &regs.regs);
}

/* Reports the return of a call. Its entry may not have been reported. */
static inline void fg_c_call_return(struct fg_task *task, fg_pyframe *caller, PyObject *callable,
                                    enum fg_end end)
{
    struct fg_c_function_regs regs = fg_c_function_regs(caller, callable, NULL);
    uintptr_t fp = fg_cfunction_fp(caller);

    if (fg_top_is(task, fp))
        fg_return(task, fp, &regs.regs, end);
}

#endif
