/* The callbacks of sys.monitoring's events: they call the engine. */
#include "arch/cpython/backend/monitoring.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/base/tstate.h"

#if FG_HAVE_MONITORING

#include <stddef.h>

#include "arch/cpython/backend/call_steps.h"
#include "arch/cpython/backend/silent_call.h"
#include "arch/cpython/hook/ended.h"
#include "arch/cpython/hook/gate.h"
#include "arch/cpython/hook/greenlet.h"
#include "arch/cpython/hook/kprobe.h"
#include "arch/cpython/hook/raises.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/cfunction_table.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "engine/base/clock.h"
#include "engine/graph/call.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/probe/fprobe_call.h"
#include "engine/ring/ring_layout.h"

static inline struct monitoring *monitoring_of(PyObject *hook)
{
    return ((struct hook *)hook)->monitoring;
}

/* The frame of an event, and its function's record (NULL: not met yet). From 3.13 on native code may
 * fire events for its own functions (PyMonitoring_FirePyStartEvent and others), with any object as their
 * code. Then `frame` is NULL, because the newest frame is the caller's. Such events are global only. */
struct site {
    fg_pyframe *frame;
    struct fg_func *func;
    PyThreadState *tstate;
};

static inline struct site site_of(PyObject *code)
{
    PyThreadState *tstate = fg_tstate();
    fg_pyframe *frame = fg_current_pyframe(tstate);

#if FG_HAVE_NATIVE_EVENTS
    if (fg_unlikely(!frame || !fg_pyframe_is_of(frame, code)))
        return (struct site){NULL, NULL, tstate};
#endif
    return (struct site){frame, fg_code_func((PyCodeObject *)code), tstate};
}

/* True if the callback may return DISABLE: the function has no users. While its users change it may
 * still have local events. sync_func() relies on the local events that it finds, so PY_START must stay
 * among them. */
static bool may_disable(struct monitoring *m, struct site site)
{
    return FG_CAN_DISABLE &&
           (!site.func || (!fg_func_has_users(site.func) &&
                           !(local_events(m, fg_pyframe_code(site.frame)) & ~events_within(m))));
}

/* The first call of a function, or a call of a function without users. */
FG_COLD static PyObject *on_start_slow(struct monitoring *m, struct site site)
{
    struct ftrace_regs regs = fg_regs_of(NULL, site.frame, NULL);
    struct fg_task *task = fg_task_current();

    if (!site.frame || fg_ended_check(site.tstate) || fg_gate_check(site.tstate))
        Py_RETURN_NONE;
    if (!site.func)
        site.func = fg_code_discover(site.frame);
    if (may_disable(m, site))
        return Py_NewRef(m->disable);
    if (task && site.func)
        fg_enter(task, site.func, (uintptr_t)site.frame, &regs);
    Py_RETURN_NONE;
}

/* A call that is not plain. Takes the members of struct site one by one: the struct would be copied. */
FG_NOINLINE static PyObject *on_start_full(struct monitoring *m, struct fg_task *task, struct fg_func *func,
                                           fg_pyframe *frame, PyThreadState *tstate)
{
    struct ftrace_regs regs = fg_regs_of(tstate, frame, NULL);

    if (fg_slow_path_is_forced() ||
        (fg_unlikely(!fg_enter(task, func, (uintptr_t)frame, &regs)) && FG_CAN_DISABLE))
        return on_start_slow(m, (struct site){frame, func, tstate});
    Py_RETURN_NONE;
}

/* A call that may be plain. Not inlined, so that other calls do not save the registers that this one
 * needs. */
FG_HOT FG_NOINLINE static PyObject *on_start_plain(struct monitoring *m, struct fg_task *task,
                                                   struct fg_func *func, fg_pyframe *frame,
                                                   PyThreadState *tstate)
{
    if (fg_likely(fg_enter_plain(task, func, (uintptr_t)frame)))
        Py_RETURN_NONE;
    return on_start_full(m, task, func, frame, tstate);
}

/* A call that only one fprobe may watch. Not inlined, for the same reason. */
FG_HOT FG_NOINLINE static PyObject *on_start_probed(struct monitoring *m, struct fg_task *task,
                                                    struct fg_func *func, fg_pyframe *frame,
                                                    PyThreadState *tstate)
{
    struct ftrace_regs regs = fg_regs_of(tstate, frame, NULL);

    if (fg_likely(!fg_slow_path_is_forced() &&
                  fg_enter_probed(task, func, (uintptr_t)frame, fg_pyframe_return_address(frame), &regs)))
        Py_RETURN_NONE;
    return on_start_full(m, task, func, frame, tstate);
}

FG_NOINLINE static PyObject *on_start_of_generator(struct monitoring *m, struct fg_task *task,
                                                   struct fg_func *func, fg_pyframe *frame,
                                                   PyThreadState *tstate)
{
    fg_abandon_parked(task, frame);
    if (fg_func_plain(func))
        return on_start_plain(m, task, func, frame, tstate);
    return on_start_full(m, task, func, frame, tstate);
}

FG_HOT static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    struct fg_task *task = fg_task_self;

    (void)nargsf, (void)kwnames;
    if (fg_unlikely(!site.func || !task))
        return on_start_slow(monitoring_of(self), site);
    if (fg_unlikely(site.func->flags & FG_FUNC_SUSPENDS))
        return on_start_of_generator(monitoring_of(self), task, site.func, site.frame, site.tstate);
    if (fg_func_plain(site.func))
        return on_start_plain(monitoring_of(self), task, site.func, site.frame, site.tstate);
    if (fg_func_probed(site.func))
        return on_start_probed(monitoring_of(self), task, site.func, site.frame, site.tstate);
    return on_start_full(monitoring_of(self), task, site.func, site.frame, site.tstate);
}

/* The return of a call that is not plain. */
FG_NOINLINE static PyObject *on_return_full(PyThreadState *tstate, struct fg_task *task,
                                            struct fg_ending ending, PyObject *value)
{
    fg_pyframe *frame = fg_current_pyframe(tstate);
    struct ftrace_regs regs = fg_regs_of(tstate, frame, value);

    fg_return_at(task, (uintptr_t)frame, ending, &regs, FG_END_RETURN);
    Py_RETURN_NONE;
}

/* The return of a call that only one fprobe may watch. */
FG_HOT FG_NOINLINE static PyObject *on_return_probed(PyThreadState *tstate, struct fg_task *task,
                                                     PyObject *value)
{
    fg_pyframe *frame = fg_current_pyframe(tstate);
    struct ftrace_regs regs = fg_regs_of(tstate, frame, value);

    if (fg_likely(fg_return_probed(task, (uintptr_t)frame, fg_pyframe_return_address(frame), &regs)))
        Py_RETURN_NONE;
    return on_return_full(tstate, task, fg_return_begin(task), value);
}

FG_HOT static PyObject *on_return(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    struct fg_ending ending;
    PyThreadState *tstate;

    (void)self, (void)nargsf, (void)kwnames;
    if (fg_unlikely(!task))
        Py_RETURN_NONE;
    if (fg_top_is_probed(task))
        return on_return_probed(fg_tstate(), task, args[2]);
    ending = fg_return_begin(task);
    tstate = fg_tstate();
    if (fg_likely(fg_return_plain(task, (uintptr_t)fg_current_pyframe(tstate), ending.counter)))
        Py_RETURN_NONE;
    return on_return_full(tstate, task, ending, args[2]);
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct ftrace_regs regs = fg_regs_of(NULL, frame, args[2]);

    (void)self, (void)nargsf, (void)kwnames;
    if (fg_likely(task != NULL))
        fg_suspend(task, (uintptr_t)frame, &regs);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct ftrace_regs regs = fg_regs_of(NULL, frame, NULL);

    (void)self, (void)args, (void)nargsf, (void)kwnames;
    if (fg_likely(task != NULL && !fg_ended_check(fg_tstate())))
        fg_resume(task, (uintptr_t)frame, &regs);
    Py_RETURN_NONE;
}

/* ---- PY_THROW and PY_UNWIND
 *
 * Before 3.15 these events are global, so functions without users fire them too. */

/* True if the frame is before its RESUME, at which PY_START fires. */
static inline bool is_before_start(fg_pyframe *frame)
{
    return _PyInterpreterFrame_LASTI(frame) < fg_pyframe_code(frame)->_co_firsttraceable;
}

/* An exception is thrown into a generator that has not run yet. Its frame runs without PY_START and
 * raises at its first line. */
FG_COLD static void enter_by_throw(struct site site)
{
    struct ftrace_regs regs = fg_regs_of(NULL, site.frame, NULL);
    struct fg_task *task = fg_task_current();

    if (!task || fg_gate_check(fg_tstate()))
        return;
    if (!site.func)
        site.func = fg_code_discover(site.frame);
    if (!site.func)
        return;
    fg_abandon_parked(task, site.frame);
    fg_enter(task, site.func, (uintptr_t)site.frame, &regs);
}

static PyObject *on_throw(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);

    if (site.frame && is_before_start(site.frame))
        enter_by_throw(site);
    else if (site.func)
        return on_resume(self, args, nargsf, kwnames);
    Py_RETURN_NONE;
}

static PyObject *on_unwind(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    struct fg_task *task = fg_task_self;
    struct ftrace_regs regs = {&fg_python_raise_regs_ops, site.frame, args[2], site.tstate};

    (void)self, (void)nargsf, (void)kwnames;
    if (site.func && task &&
        (fg_func_wants_returns(site.func) || fg_func_has_pending_returns(site.func) ||
         fg_top_is(task, (uintptr_t)site.frame)))
        fg_return(task, (uintptr_t)site.frame, &regs, fg_end_by(args[2], (PyCodeObject *)args[0]));
    Py_RETURN_NONE;
}

/* ---- C functions
 *
 * CALL is local to functions whose users want the C functions that they call. It is global while a user
 * wants a C function from any caller. CPython fires C_RETURN and C_RAISE along with it. */

/* For a global CALL event: it may come from any function, or from native code, which has no frame. */
static bool wants_c_call(struct fg_func *func, struct site site)
{
    return site.frame && !fg_gate_check(site.tstate) && fg_hooks_wants_c_call(func, site.func);
}

/* A call of what no user wants to know of. While CALL is local, the place may stop to report, until
 * set_requested_events() has the function's places report again. */
static PyObject *on_other_call(const struct monitoring *m, PyObject *code, PyObject *callable,
                               const struct fg_func *func)
{
    struct fg_func *caller = PyCode_Check(code) ? fg_code_func((PyCodeObject *)code) : NULL;

    if (!caller || !atomic_load_explicit(&caller->may_silence_calls, memory_order_relaxed) ||
        m->interp->hooks_c_calls || !fg_call_stays_silent((PyCodeObject *)code, callable, func))
        Py_RETURN_NONE;
    atomic_store_explicit(&caller->has_silent_calls, true, memory_order_relaxed);
    return Py_NewRef(m->disable);
}

/* A call that is not plain, or of what has no record yet. */
FG_NOINLINE static PyObject *on_call_full(const struct monitoring *m, PyObject *const *args)
{
    struct fg_func *func = fg_cfunction_func(m->interp, args[2]);
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct fg_task *task;

    if (!func || !fg_func_has_users(func))
        return on_other_call(m, args[0], args[2], func);
    if (fg_ended_check(fg_tstate()) || (m->interp->hooks_c_calls && !wants_c_call(func, site_of(args[0]))))
        Py_RETURN_NONE;
    task = fg_task_current();
    if (task)
        fg_c_call_enter(task, func, frame, args[2], args[3] == m->missing ? NULL : args[3]);
    Py_RETURN_NONE;
}

FG_HOT static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const struct monitoring *m = monitoring_of(self);
    const PyMethodDef *definition = fg_cfunction_plain_definition(args[2]);
    struct fg_func *func = definition ? fg_cfunction_known(m->interp, definition) : NULL;
    struct fg_task *task = fg_task_self;

    (void)nargsf, (void)kwnames;
    if (fg_likely(func && fg_func_plain(func) && task && !m->interp->hooks_c_calls) &&
        fg_likely(fg_enter_plain(task, func, fg_cfunction_fp(fg_current_pyframe(fg_tstate())))))
        Py_RETURN_NONE;
    return on_call_full(m, args);
}

/* The return of a call that is not plain, or of one that no user wanted. */
FG_NOINLINE static PyObject *c_end(PyObject *callable, enum fg_end end)
{
    if (fg_task_self)
        fg_c_call_return(fg_task_self, fg_current_pyframe(fg_tstate()), callable, end);
    Py_RETURN_NONE;
}

FG_HOT static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    uint64_t counter = fg_clock_counter();
    struct fg_task *task = fg_task_self;

    (void)self, (void)nargsf, (void)kwnames;
    if (fg_likely(task && fg_return_plain(task, fg_cfunction_fp(fg_current_pyframe(fg_tstate())), counter)))
        Py_RETURN_NONE;
    return c_end(args[2], FG_END_RETURN);
}

static PyObject *on_c_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return c_end(args[2], FG_END_RAISE);
}

/* ---- places within functions (kprobe.h)
 *
 * At a place without a kprobe the callback returns DISABLE, so that the place costs nothing from then
 * on. */

static PyObject *answer_at_place(struct monitoring *m, bool is_probed)
{
    return is_probed || !FG_CAN_DISABLE ? Py_NewRef(Py_None) : Py_NewRef(m->disable);
}

/* At an instruction that begins a line, CPython fires LINE, then INSTRUCTION. If a callback returns
 * DISABLE for the LINE, CPython continues with the original instruction and skips INSTRUCTION. So LINE
 * is never disabled where a kprobe by offset is. */
static bool has_instruction_probe(const struct fg_kprobe_site *at)
{
    return fg_kprobe_is_at_offset(at->func, _PyInterpreterFrame_LASTI(at->frame) * (int)sizeof(_Py_CODEUNIT));
}

static PyObject *on_line(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    const struct fg_kprobe_site at = {site.frame, site.tstate, site.func};

    (void)nargsf, (void)kwnames;
    return answer_at_place(
        monitoring_of(self),
        site.func && (fg_kprobe_hit_line(&at, (int)PyLong_AsLong(args[1])) || has_instruction_probe(&at)));
}

static PyObject *on_instruction(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    const struct fg_kprobe_site at = {site.frame, site.tstate, site.func};

    (void)nargsf, (void)kwnames;
    return answer_at_place(monitoring_of(self),
                           site.func && fg_kprobe_hit_offset(&at, (int)PyLong_AsLong(args[1])));
}

/* ---- exceptions */

static PyObject *report_raise(PyObject *const *args, bool is_reraise)
{
    struct site site = site_of(args[0]);
    struct fg_raise raise = {.frame = site.frame, .exception = args[2], .is_reraise = is_reraise};

    if (!site.frame || !PyExceptionInstance_Check(args[2]))
        Py_RETURN_NONE;
    raise.offset = (int)PyLong_AsLong(args[1]);
    raise.traceback = ((PyBaseExceptionObject *)args[2])->traceback;
    fg_raises_report(&raise);
    Py_RETURN_NONE;
}

static PyObject *on_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return report_raise(args, false);
}

static PyObject *on_reraise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return report_raise(args, true);
}

/* ---- the same callbacks for programs that have imported greenlet */

/* A call that begins may have the frame address of an earlier call whose end no event reported. */
static inline void follow(enum event event)
{
    struct fg_task *task = fg_task_current();
    PyThreadState *tstate = fg_tstate();
    fg_pyframe *frame = fg_current_pyframe(tstate);
    struct fg_greenlet_event to_come = {.begins = 0};

    if (event == EVENT_PY_START)
        to_come.begins = (uintptr_t)frame;
    if (event == EVENT_CALL)
        to_come.begins = fg_cfunction_fp(frame);
    if (fg_likely(task != NULL))
        fg_greenlet_follow(task, tstate, to_come);
}

#define X(name, callback)                                                                                    \
    static PyObject *callback##_in_greenlet(PyObject *self, PyObject *const *args, size_t nargsf,            \
                                            PyObject *kwnames)                                               \
    {                                                                                                        \
        follow(EVENT_##name);                                                                                \
        return callback(self, args, nargsf, kwnames);                                                        \
    }
EVENTS(X)
#undef X

const struct fg_monitoring_event fg_monitoring_events[NR_EVENTS] = {
#define X(name, callback) [EVENT_##name] = {#name, callback, callback##_in_greenlet},
    EVENTS(X)
#undef X
};

#endif
