/* See c_calls.h. */
#include "arch/cpython/backend/c_calls.h"

#if !FG_HAVE_MONITORING

#include "arch/cpython/backend/call_steps.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/ended.h"
#include "arch/cpython/hook/gate.h"
#include "arch/cpython/hook/greenlet.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "engine/core/public.h"
#include "engine/core/task.h"
#include "engine/graph/call.h"

bool fg_c_calls_requested;
static bool hooks_all; /* copy of the main interpreter's hooks_c_calls */

/* The profile function that this thread's events are passed on to, or NULL. */
static _Thread_local Py_tracefunc next_profile;

static struct fg_func *requested_function(const fg_pyframe *frame, PyObject *callable)
{
    struct fg_func *caller = fg_code_func(frame->f_code), *func;

    if (!hooks_all && (!caller || !fg_hooks_wants_c_calls(caller)))
        return NULL;
    func = fg_cfunction_func(fg_interp_known(), callable);
    return func && fg_hooks_wants_c_call(func, caller) ? func : NULL;
}

static void c_call(PyThreadState *tstate, fg_pyframe *frame, PyObject *callable)
{
    struct fg_func *func;
    struct fg_task *task;

    fg_ended_check(tstate);
    func = fg_gate_check(tstate) ? NULL : requested_function(frame, callable);
    task = func ? fg_task_current() : NULL;
    if (!task)
        return;
    fg_greenlet_check(task, tstate, (struct fg_greenlet_event){.begins = fg_cfunction_fp(frame)});
    fg_c_call_enter(task, func, frame, callable, NULL);
}

static void c_end(fg_pyframe *frame, PyObject *callable, enum fg_end end)
{
    if (!fg_task_self)
        return;
    fg_greenlet_check(fg_task_self, fg_tstate(), (struct fg_greenlet_event){.begins = 0});
    fg_c_call_return(fg_task_self, frame, callable, end);
}

/* Restores the profile function of the calling thread. */
static void detach(PyThreadState *tstate)
{
    if (tstate->c_profilefunc == fg_c_calls_profile)
        tstate->c_profilefunc = next_profile;
}

int fg_c_calls_profile(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *tstate = fg_tstate();
    Py_tracefunc next = next_profile;
    int result = 0;

    if (!fg_c_calls_requested && !hooks_all)
        detach(tstate); /* CPython updates use_tracing when this function returns */
    else if (what == PyTrace_C_CALL)
        c_call(tstate, frame->f_frame, arg);
    if (next)
        result = next(object, frame, what, arg);
    if (what == PyTrace_C_RETURN)
        c_end(frame->f_frame, arg, FG_END_RETURN);
    else if (what == PyTrace_C_EXCEPTION)
        c_end(frame->f_frame, arg, FG_END_RAISE);
    return result;
}

/* A profile function that another thread installs in a thread which has none. It resets `next_profile`,
 * which only the thread itself can do. */
static int adopt(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    next_profile = NULL;
    fg_tstate()->c_profilefunc = fg_c_calls_profile;
    return fg_c_calls_profile(object, frame, what, arg);
}

void fg_c_calls_attach_slow(PyThreadState *tstate)
{
    next_profile = tstate->c_profilefunc == adopt ? NULL : tstate->c_profilefunc;
    tstate->c_profilefunc = fg_c_calls_profile;
    fg_tracing_update(tstate);
}

void fg_c_calls_are_requested(void)
{
    fg_c_calls_requested = true;
    fg_slow_path_hold();
}

void fg_c_calls_attach_if_all(PyThreadState *tstate)
{
    if (hooks_all && tstate->c_profilefunc != fg_c_calls_profile && fg_interp_known()->is_main)
        fg_c_calls_attach_slow(tstate);
}

void fg_c_calls_hook_all(bool on)
{
    PyThreadState *tstate = PyInterpreterState_ThreadHead(PyInterpreterState_Main());

    hooks_all = on;
    /* Frames in progress fire events too. A thread that has its own profile function puts ours in front
     * at its next call of a Python function. After @on is switched off again, our function removes
     * itself at the thread's next event. */
    for (; on && tstate; tstate = PyThreadState_Next(tstate)) {
        if (tstate->c_profilefunc)
            continue;
        tstate->c_profilefunc = adopt;
        fg_tracing_update(tstate);
    }
    if (on)
        fg_c_calls_attach_if_all(fg_tstate());
}

/* Removes our profile function from the threads of this interpreter. Threads other than the caller's do
 * so at their next event. */
void fg_c_calls_detach_all(void)
{
    PyThreadState *tstate = fg_tstate();

    if (fg_c_calls_requested)
        fg_slow_path_release();
    fg_c_calls_requested = false;
    detach(tstate);
    fg_tracing_update(tstate);
}

#endif
