/* Standing in front of a thread's profile function to hear of calls of C functions (CPython 3.11). */
#include "c_calls.h"

#if !FG_HAVE_MONITORING

#include "cfunction.h"
#include "code.h"
#include "greenlet.h"
#include "values.h"

bool fg_c_calls_wanted;

/* Whose events we pass on, by thread; NULL: nobody's. */
static _Thread_local Py_tracefunc next_profile;

static void c_call(fg_pyframe *frame, PyObject *callable)
{
    struct fg_func *caller = fg_code_func(frame->f_code);
    struct fg_func *func =
        caller && fg_cpython_wants_c_calls(caller) ? fg_cfunction_func(caller->domain, callable) : NULL;
    struct ftrace_regs regs = {&fg_c_function_regs_ops, frame, NULL, NULL};
    uintptr_t fp = fg_cfunction_fp(frame);

    if (!func || !fg_task_self || !fg_func_has_users(func))
        return;
    fg_greenlet_check(fg_task_self, fg_tstate(), (struct fg_greenlet_event){.begins = fp});
    fg_enter(fg_task_self, func, fp, &regs);
}

static void c_end(fg_pyframe *frame, enum fg_end end)
{
    struct ftrace_regs regs = {&fg_c_function_regs_ops, NULL, NULL, NULL};
    uintptr_t fp = fg_cfunction_fp(frame);

    if (!fg_task_self)
        return;
    fg_greenlet_check(fg_task_self, fg_tstate(), (struct fg_greenlet_event){.begins = 0});
    if (fg_top_is(fg_task_self, fp))
        fg_return(fg_task_self, fp, &regs, end);
}

int fg_c_calls_profile(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    int result = 0;

    if (what == PyTrace_C_CALL)
        c_call(frame->f_frame, arg);
    if (next_profile)
        result = next_profile(object, frame, what, arg);
    if (what == PyTrace_C_RETURN)
        c_end(frame->f_frame, FG_END_RETURN);
    else if (what == PyTrace_C_EXCEPTION)
        c_end(frame->f_frame, FG_END_RAISE);
    return result;
}

static void update_tracing(PyThreadState *tstate)
{
    tstate->cframe->use_tracing =
        tstate->tracing == 0 && (tstate->c_tracefunc || tstate->c_profilefunc) ? 255 : 0;
}

void fg_c_calls_attach_slow(PyThreadState *tstate)
{
    next_profile = tstate->c_profilefunc;
    tstate->c_profilefunc = fg_c_calls_profile;
    update_tracing(tstate);
}

/* In the threads of this interpreter: what stood behind us stands there again. Other threads' `next_profile`
 * is out of reach from here: their function stays and only passes on. */
void fg_c_calls_detach_all(void)
{
    PyThreadState *tstate = fg_tstate();

    fg_c_calls_wanted = false;
    if (tstate->c_profilefunc != fg_c_calls_profile)
        return;
    tstate->c_profilefunc = next_profile;
    update_tracing(tstate);
}

#endif
