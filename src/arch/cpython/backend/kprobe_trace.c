/* See kprobe_trace.h. */
#include "arch/cpython/backend/kprobe_trace.h"

#if !FG_HAVE_MONITORING

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/raises.h"
#include "arch/cpython/read/code.h"
#include "engine/core/task.h"

_Atomic unsigned fg_trace_raises_on;

/* Where our function is installed: the thread state, and the trace function to which events are passed
 * on, or NULL, with its object. A thread has one thread state for each interpreter that it has been in.
 * Another thread may have installed our function here, where there was none (fg_trace_raises()). */
static _Thread_local struct {
    PyThreadState *tstate;
    Py_tracefunc next;
    const PyObject *object;
} place;

static int trace(PyObject *object, PyFrameObject *frame, int what, PyObject *arg);

static bool stands(const PyThreadState *tstate)
{
    return tstate->c_tracefunc == trace;
}

/* The program may have removed its function while another thread installed ours. */
static Py_tracefunc next_of(const PyThreadState *tstate)
{
    return place.tstate == tstate && (tstate->c_traceobj || !place.object) ? place.next : NULL;
}

/* Restores the trace function. */
static void step_out(PyThreadState *tstate)
{
    if (stands(tstate))
        tstate->c_tracefunc = next_of(tstate);
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
    place.next = stands(tstate) ? next_of(tstate) : tstate->c_tracefunc;
    place.object = place.next ? tstate->c_traceobj : NULL;
    place.tstate = tstate;
    tstate->c_tracefunc = trace;
    fg_tracing_update(tstate);
}

static bool is_probed(fg_pyframe *frame)
{
    struct fg_func *func = frame ? fg_code_func(frame->f_code) : NULL;

    return func && fg_kprobe_are_on(func);
}

static bool follows_raises(void)
{
    return atomic_load_explicit(&fg_trace_raises_on, memory_order_relaxed) != 0;
}

/* CPython calls the trace function for an exception also if no other event is on (ceval.c, `error`). So a
 * frame without kprobes runs as fast as without us. */
static void keep_quiet(PyThreadState *tstate)
{
    if (stands(tstate) && !next_of(tstate) && !tstate->c_profilefunc)
        tstate->cframe->use_tracing = 0;
}

/* Installs or removes our function for the frame that runs now. */
static void stand_for(PyThreadState *tstate, fg_pyframe *frame)
{
    if (is_probed(frame) || follows_raises())
        step_in(tstate);
    if (is_probed(frame))
        return;
    if (follows_raises())
        keep_quiet(tstate);
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
    Py_tracefunc next = next_of(fg_tstate());

    if (!next || is_only_ours(frame, what))
        return 0;
    switches_off(frame);
    return next(object, frame, what, arg);
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

/* ---- exceptions
 *
 * After a trace function returns, CPython switches all events on. It then frees the tuple with which it
 * called the function. So the tuple gets an object of ours in place of the traceback, whose deallocation
 * switches the events off. A trace function of the program, which may keep the tuple, wants the events
 * anyway. */

static void after_raise(PyObject *self)
{
    PyThreadState *tstate = fg_tstate();

    (void)self;
    if (!is_probed(fg_current_pyframe(tstate)))
        keep_quiet(tstate);
}

static PyTypeObject after_raise_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "funcgraph._engine.AfterRaise",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = after_raise,
};
static PyObject after_raise_object = {.ob_type = &after_raise_type};

/* Under the GIL, from here until the tuple is freed. */
static void quiet_after(PyObject *arg)
{
    PyObject *traceback = PyTuple_GET_ITEM(arg, 2);

    if (Py_REFCNT(arg) != 1 || Py_REFCNT(&after_raise_object) != 0)
        return;
    Py_SET_REFCNT(&after_raise_object, 1);
    PyTuple_SET_ITEM(arg, 2, &after_raise_object);
    Py_DECREF(traceback); /* CPython has another reference */
}

/* @arg: (type, value, traceback) */
static void report_raise(PyFrameObject *frame, PyObject *arg)
{
    PyObject *value = PyTuple_GET_ITEM(arg, 1), *traceback = PyTuple_GET_ITEM(arg, 2);
    struct fg_raise raise = {.frame = frame->f_frame,
                             .exception = value,
                             .offset = _PyInterpreterFrame_LASTI(frame->f_frame) * (int)sizeof(_Py_CODEUNIT)};

    if (traceback && PyTraceBack_Check(traceback))
        raise.traceback = traceback;
    if (follows_raises() && PyExceptionInstance_Check(value))
        fg_raises_report(&raise);
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
    if (what == PyTrace_EXCEPTION)
        report_raise(frame, arg);
    result = is_probes ? 0 : pass_on(object, frame, what, arg);
    /* The program's trace function may have been replaced meanwhile, and the kprobes may have been
     * removed. */
    stand_for(tstate, frame->f_frame);
    if (stands(tstate) && is_probed(frame->f_frame) && what != PyTrace_RETURN)
        switches_on(frame, fg_kprobe_kinds(fg_code_func(frame->f_frame->f_code)));
    else
        switches_off(frame);
    if (what == PyTrace_EXCEPTION && stands(tstate) && !next_of(tstate))
        quiet_after(arg);
    return result;
}

/* Where another thread is, with the GIL held. A trace function of the program stays the thread's own
 * business: our function comes and goes at its next call. */
static void follow_elsewhere(PyThreadState *tstate)
{
    if (tstate->c_traceobj || is_probed(fg_current_pyframe(tstate)))
        return;
    if (follows_raises() && !tstate->c_tracefunc)
        tstate->c_tracefunc = trace;
    else if (!follows_raises() && stands(tstate)) {
        tstate->c_tracefunc = NULL;
        fg_tracing_update(tstate);
    }
}

void fg_trace_raises(struct fg_interp *interp)
{
    PyThreadState *own = fg_tstate();

    if (interp->raises[0] && !interp->traces_raises)
        atomic_fetch_add(&fg_trace_raises_on, 1);
    else if (!interp->raises[0] && interp->traces_raises)
        atomic_fetch_sub(&fg_trace_raises_on, 1);
    interp->traces_raises = interp->raises[0];
    for (PyThreadState *at = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); at;
         at = PyThreadState_Next(at)) {
        if (at != own)
            follow_elsewhere(at);
    }
    stand_for(own, fg_current_pyframe(own));
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
