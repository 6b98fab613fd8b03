/* See kprobe_trace.h. */
#include "arch/cpython/hook/kprobe_trace.h"

#if !FG_HAVE_MONITORING

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/code.h"
#include "engine/core/task.h"

/* Where our function is installed: the thread state, and the trace function to which events are passed
 * on, or NULL. A thread has one thread state for each interpreter that it has been in. */
static _Thread_local struct {
    PyThreadState *tstate;
    Py_tracefunc next;
} place;

static int trace(PyObject *object, PyFrameObject *frame, int what, PyObject *arg);

static bool stands(const PyThreadState *tstate)
{
    return tstate->c_tracefunc == trace;
}

/* Restores the trace function. */
static void step_out(PyThreadState *tstate)
{
    if (stands(tstate))
        tstate->c_tracefunc = place.next;
    if (place.tstate == tstate)
        place.tstate = NULL;
    fg_tracing_update(tstate);
}

/* A thread has one `place`. So while a second interpreter runs inside the first, its frames are not
 * probed. */
static void step_in(PyThreadState *tstate)
{
    if (place.tstate && place.tstate != tstate)
        return;
    if (!stands(tstate)) {
        place.tstate = tstate;
        place.next = tstate->c_tracefunc;
        tstate->c_tracefunc = trace;
    }
    fg_tracing_update(tstate);
}

static bool is_probed(fg_pyframe *frame)
{
    struct fg_func *func = frame ? fg_code_func(frame->f_code) : NULL;

    return func && fg_kprobe_are_on(func);
}

/* Installs or removes our function for the frame that runs now. */
static void stand_for(PyThreadState *tstate, fg_pyframe *frame)
{
    if (is_probed(frame))
        step_in(tstate);
    else if (stands(tstate) || place.tstate == tstate)
        step_out(tstate);
}

/* ---- the frame's switches
 *
 * f_trace_lines and f_trace_opcodes belong to the program, which reads them as bool. If we need one
 * that is off, it has the value ON_FOR_US while the frame runs. It is off again whenever the program
 * can see it: in the program's trace function, and after the frame. */

#define ON_FOR_US 2

static void switches_on(PyFrameObject *frame, unsigned kinds)
{
    if (!frame->f_trace_lines && (kinds & FG_KPROBE_LINES))
        frame->f_trace_lines = ON_FOR_US;
    if (!frame->f_trace_opcodes && (kinds & FG_KPROBE_OFFSETS))
        frame->f_trace_opcodes = ON_FOR_US;
}

static void switches_off(PyFrameObject *frame)
{
    if (frame->f_trace_lines == ON_FOR_US)
        frame->f_trace_lines = 0;
    if (frame->f_trace_opcodes == ON_FOR_US)
        frame->f_trace_opcodes = 0;
}

/* ---- events */

static bool is_only_ours(const PyFrameObject *frame, int what)
{
    return (what == PyTrace_LINE && frame->f_trace_lines == ON_FOR_US) ||
           (what == PyTrace_OPCODE && frame->f_trace_opcodes == ON_FOR_US);
}

/* Calls the program's trace function, in the same state as without us. */
static int pass_on(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    if (!place.next || is_only_ours(frame, what))
        return 0;
    switches_off(frame);
    return place.next(object, frame, what, arg);
}

static void hit(PyThreadState *tstate, PyFrameObject *frame, int what)
{
    const struct fg_kprobe_site site = {frame->f_frame, tstate, fg_code_func(frame->f_frame->f_code)};

    if (!site.func)
        return;
    if (what == PyTrace_LINE)
        fg_kprobe_hit_line(&site, PyFrame_GetLineNumber(frame));
    else if (what == PyTrace_OPCODE)
        fg_kprobe_hit_offset(&site, _PyInterpreterFrame_LASTI(frame->f_frame) * (int)sizeof(_Py_CODEUNIT));
}

static bool is_in_callback(void)
{
    struct fg_task *task = fg_task_self;

    return task && (fg_task_guard(task) & task->context);
}

static int trace(PyObject *object, PyFrameObject *frame, int what, PyObject *arg)
{
    PyThreadState *tstate = fg_tstate();
    bool is_probes = is_in_callback();
    int result;

    hit(tstate, frame, what);
    result = is_probes ? 0 : pass_on(object, frame, what, arg);
    /* The program's trace function may have been replaced meanwhile, and the kprobes may have been
     * removed. */
    stand_for(tstate, frame->f_frame);
    if (stands(tstate) && what != PyTrace_RETURN)
        switches_on(frame, fg_kprobe_kinds(fg_code_func(frame->f_frame->f_code)));
    else
        switches_off(frame);
    return result;
}

/* ---- frames */

/* In functions called by a callback, kprobes are only counted as missed. No other trace or profile
 * function is called. */
static PyObject *evaluate_in_callback(_PyFrameEvalFunction evaluate, PyThreadState *tstate, fg_pyframe *frame,
                                      int throwflag)
{
    Py_tracefunc profile = tstate->c_profilefunc;
    const PyObject *profile_object = tstate->c_profileobj;
    int tracing = tstate->tracing;
    PyObject *result;

    tstate->c_profilefunc = NULL;
    tstate->tracing = is_probed(frame) ? 0 : 1;
    stand_for(tstate, frame);
    result = evaluate(tstate, frame, throwflag);
    tstate->tracing = tracing;
    if (!tstate->c_profilefunc && tstate->c_profileobj == profile_object) /* not replaced meanwhile */
        tstate->c_profilefunc = profile;
    stand_for(tstate, fg_current_pyframe(tstate));
    return result;
}

PyObject *fg_kprobe_evaluate(_PyFrameEvalFunction evaluate, PyThreadState *tstate, fg_pyframe *frame,
                             int throwflag)
{
    PyObject *result;

    if (is_in_callback())
        return evaluate_in_callback(evaluate, tstate, frame, throwflag);
    stand_for(tstate, frame);
    result = evaluate(tstate, frame, throwflag);
    stand_for(tstate, fg_current_pyframe(tstate));
    return result;
}

#endif
