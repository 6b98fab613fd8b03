/* Hooking through sys.monitoring (PEP 669), CPython 3.12 and later.
 *
 * One global event, PY_START, finds functions: at its first call a function gets its record. One that nobody
 * wants answers DISABLE, which costs nothing from then on; one that somebody wants gets local events. PY_UNWIND
 * can be local from 3.15 on (gh-142186); before it it is set globally, with the first such function. */
#include "arch.h"

#if FG_HAVE_MONITORING

#include <stddef.h>
#include <stdlib.h>

#include "cfunction.h"
#include "code.h"
#include "engine/clock.h"
#include "engine/ring_layout.h"
#include "greenlet.h"
#include "kprobe.h"
#if PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_instruments.h"
#endif
#include "values.h"

/* event, its name in sys.monitoring.events, the callback */
#define EVENTS(X)                                                                                            \
    X(PY_START, on_start)                                                                                    \
    X(PY_RESUME, on_resume)                                                                                  \
    X(PY_RETURN, on_return)                                                                                  \
    X(PY_YIELD, on_yield)                                                                                    \
    X(PY_UNWIND, on_unwind)                                                                                  \
    X(PY_THROW, on_throw)                                                                                    \
    X(CALL, on_call)                                                                                         \
    X(C_RETURN, on_c_return)                                                                                 \
    X(C_RAISE, on_c_raise)                                                                                   \
    X(LINE, on_line)                                                                                         \
    X(INSTRUCTION, on_instruction)

enum event {
#define X(name, callback) EVENT_##name,
    EVENTS(X)
#undef X
        NR_EVENTS
};

#define NR_TOOL_IDS 6
/* 4 and 3 are nobody's by convention; those that PEP 669 names for coverage, profilers and debuggers come last. */
static const int tool_id_order[NR_TOOL_IDS] = {4, 3, 5, 1, 2, 0};

/* Of one interpreter. */
struct monitoring {
    struct fg_interp *interp;
    PyObject *namespace; /* sys.monitoring */
    PyObject *set_events, *set_local_events, *disable, *missing;
    PyObject *hooks[NR_EVENTS]; /* callables; they stay: an event may be under way at any time */
    long bits[NR_EVENTS];
    int tool_id;
    bool has_armed;      /* some function has local events: the global ones that go with them are on */
    bool has_local_ends; /* PY_UNWIND and PY_THROW can be local: none go with them */
};

/* A callable that CPython reaches through its own vectorcall slot: no method object, no argument parsing. */
struct hook {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct monitoring *monitoring;
};

static inline struct monitoring *monitoring_of(PyObject *hook)
{
    return ((struct hook *)hook)->monitoring;
}

static PyMemberDef hook_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(struct hook, vectorcall), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot hook_slots[] = {
    {Py_tp_members, hook_members},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_doc, "A callback of funcgraph's engine for one event of sys.monitoring."},
    {0, NULL},
};

static PyType_Spec hook_spec = {
    .name = "funcgraph._engine.Hook",
    .basicsize = sizeof(struct hook),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = hook_slots,
};

/* The frame an event is of, and its function's record (NULL: not met yet). No frame: an event of native code, which
 * may tell of functions of its own from 3.13 on (PyMonitoring_FirePyStartEvent and others): any object stands for
 * their code, and the frame is their caller's. Such events reach global sets only. */
struct site {
    fg_pyframe *frame;
    struct fg_func *func;
    PyThreadState *tstate;
};

static inline struct site site_of(PyObject *code)
{
    PyThreadState *tstate = fg_tstate();
    fg_pyframe *frame = fg_current_pyframe(tstate);

#if PY_VERSION_HEX >= 0x030D0000
    if (fg_unlikely(!frame || !fg_pyframe_is_of(frame, code)))
        return (struct site){NULL, NULL, tstate};
#endif
    return (struct site){frame, fg_code_func((PyCodeObject *)code), tstate};
}

/* The thread state goes along where events are many: a callback in Python needs it, and asking again costs. */
static inline struct ftrace_regs regs_of_thread(PyThreadState *tstate, fg_pyframe *frame, PyObject *value)
{
    return (struct ftrace_regs){&fg_python_regs_ops, frame, value, tstate};
}

static inline struct ftrace_regs regs_of(fg_pyframe *frame, PyObject *value)
{
    return regs_of_thread(NULL, frame, value);
}

/* The events that we have set for this code alone: sys.monitoring.get_local_events() without its objects. CPython
 * keeps them where its header says (cpython/code.h), a bit for each tool. */
static long local_events(struct monitoring *m, const PyCodeObject *code)
{
    const _PyCoMonitoringData *data = code->_co_monitoring;
    long set = 0;

    for (int event = 0; data && event < _PY_MONITORING_LOCAL_EVENTS; event++)
        set |= (long)(data->local_monitors.tools[event] >> m->tool_id & 1) << event;
    return set;
}

/* Of these, the ones of probes at places within the function: they come and go without any user. */
static long events_within(struct monitoring *m)
{
    return m->bits[EVENT_LINE] | m->bits[EVENT_INSTRUCTION];
}

/* Nobody wants the function. One that still has events of its own is in the middle of a change of users: sync_func
 * takes such events as it finds them, so PY_START must stay among them. */
static bool may_disable(struct monitoring *m, struct site site)
{
    return FG_CAN_DISABLE &&
           (!site.func || (!fg_func_has_users(site.func) &&
                           !(local_events(m, fg_pyframe_code(site.frame)) & ~events_within(m))));
}

/* The first call of a function, or a call of one that nobody wants. */
FG_COLD static PyObject *on_start_slow(struct monitoring *m, struct site site)
{
    struct ftrace_regs regs = regs_of(site.frame, NULL);
    struct fg_task *task = fg_task_current();

    if (!site.frame || fg_cpython_gated(fg_tstate()))
        Py_RETURN_NONE;
    if (!site.func)
        site.func = fg_code_discover(site.frame);
    if (may_disable(m, site))
        return Py_NewRef(m->disable);
    if (task && site.func)
        fg_enter(task, site.func, (uintptr_t)site.frame, &regs);
    Py_RETURN_NONE;
}

/* A call of this address that is still parked ended without our being told. */
FG_NOINLINE static void abandon_parked(struct fg_task *task, const fg_pyframe *frame)
{
    struct ftrace_regs regs = fg_no_regs();

    fg_abandon(task, (uintptr_t)frame, &regs);
}

/* A call that is not plain. */
FG_NOINLINE static PyObject *on_start_full(struct monitoring *m, struct site site, struct fg_task *task)
{
    struct ftrace_regs regs = regs_of_thread(site.tstate, site.frame, NULL);

    if (fg_cpython_looks() ||
        (fg_unlikely(!fg_enter(task, site.func, (uintptr_t)site.frame, &regs)) && FG_CAN_DISABLE))
        return on_start_slow(m, site);
    Py_RETURN_NONE;
}

FG_HOT static PyObject *on_start(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    struct fg_task *task = fg_task_self;

    (void)nargsf, (void)kwnames;
    if (fg_unlikely(!site.func || !task))
        return on_start_slow(monitoring_of(self), site);
    if (fg_unlikely(site.func->flags & FG_FUNC_SUSPENDS))
        abandon_parked(task, site.frame);
    if (fg_likely(fg_enter_plain(task, site.func, (uintptr_t)site.frame)))
        Py_RETURN_NONE;
    return on_start_full(monitoring_of(self), site, task);
}

/* The end of a call that is not plain. */
FG_NOINLINE static PyObject *on_return_full(PyThreadState *tstate, struct fg_task *task, uint64_t counter,
                                            PyObject *value)
{
    fg_pyframe *frame = fg_current_pyframe(tstate);
    struct ftrace_regs regs = regs_of_thread(tstate, frame, value);

    fg_return_at(task, (uintptr_t)frame, counter, &regs, FG_END_RETURN);
    Py_RETURN_NONE;
}

FG_HOT static PyObject *on_return(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    uint64_t counter = fg_likely(task != NULL) ? fg_return_counter(task) : 0;
    PyThreadState *tstate = fg_tstate();

    (void)self, (void)nargsf, (void)kwnames;
    if (fg_unlikely(!task) ||
        fg_likely(fg_return_plain(task, (uintptr_t)fg_current_pyframe(tstate), counter)))
        Py_RETURN_NONE;
    return on_return_full(tstate, task, counter, args[2]);
}

static PyObject *on_yield(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct ftrace_regs regs = regs_of(frame, args[2]);

    (void)self, (void)nargsf, (void)kwnames;
    if (fg_likely(task != NULL))
        fg_suspend(task, (uintptr_t)frame, &regs);
    Py_RETURN_NONE;
}

static PyObject *on_resume(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct fg_task *task = fg_task_current();
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct ftrace_regs regs = regs_of(frame, NULL);

    (void)self, (void)args, (void)nargsf, (void)kwnames;
    if (fg_likely(task != NULL))
        fg_resume(task, (uintptr_t)frame, &regs);
    Py_RETURN_NONE;
}

/* Global events before 3.15: they come from every function, also from those nobody wants. */

/* Before its RESUME, which is where PY_START is told. */
static inline bool is_before_start(fg_pyframe *frame)
{
    return _PyInterpreterFrame_LASTI(frame) < fg_pyframe_code(frame)->_co_firsttraceable;
}

/* A generator is thrown into before it ever ran: its frame runs, to raise at its first line, with no PY_START. */
FG_COLD static void enter_by_throw(struct site site)
{
    struct ftrace_regs regs = regs_of(site.frame, NULL);
    struct fg_task *task = fg_task_current();

    if (!task || fg_cpython_gated(fg_tstate()))
        return;
    if (!site.func)
        site.func = fg_code_discover(site.frame);
    if (!site.func)
        return;
    abandon_parked(task, site.frame);
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
        (fg_func_has_users(site.func) || fg_func_is_busy(site.func) ||
         fg_top_is(task, (uintptr_t)site.frame)))
        fg_return(task, (uintptr_t)site.frame, &regs,
                  PyErr_GivenExceptionMatches(args[2], PyExc_GeneratorExit) &&
                          fg_code_is_generator((PyCodeObject *)args[0])
                      ? FG_END_CLOSE
                      : FG_END_RAISE);
    Py_RETURN_NONE;
}

/* C functions. CALL is local to functions whose users asked for what they call; and global while some user wants a C
 * function wherever it is called. C_RETURN and C_RAISE come with it. */

static struct fg_c_function_regs c_function_regs(fg_pyframe *caller, PyObject *callable, PyObject *argument)
{
    return (struct fg_c_function_regs){{&fg_c_function_regs_ops, caller, argument, NULL}, callable};
}

/* The event is global: it came from any function, or from native code, which is nobody's frame. */
static bool wants_c_call(struct fg_func *func, struct site site)
{
    return site.frame && !fg_cpython_gated(site.tstate) && fg_cpython_wants_c_call(func, site.func);
}

static PyObject *on_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const struct monitoring *m = monitoring_of(self);
    struct fg_func *func = fg_cfunction_func(m->interp, args[2]);
    struct fg_c_function_regs regs;
    struct fg_task *task;
    fg_pyframe *frame;

    (void)nargsf, (void)kwnames;
    if (!func || !fg_func_has_users(func))
        Py_RETURN_NONE;
    frame = fg_current_pyframe(fg_tstate());
    if (m->interp->hears_c_calls && !wants_c_call(func, site_of(args[0])))
        Py_RETURN_NONE;
    task = fg_task_current();
    if (!task)
        Py_RETURN_NONE;
    regs = c_function_regs(frame, args[2], args[3] == m->missing ? NULL : args[3]);
    fg_enter(task, func, fg_cfunction_fp(frame), &regs.regs);
    Py_RETURN_NONE;
}

static PyObject *c_end(PyObject *callable, enum fg_end end)
{
    struct fg_task *task = fg_task_self;
    fg_pyframe *frame = fg_current_pyframe(fg_tstate());
    struct fg_c_function_regs regs = c_function_regs(frame, callable, NULL);
    uintptr_t fp = fg_cfunction_fp(frame);

    if (task && fg_top_is(task, fp))
        fg_return(task, fp, &regs.regs, end);
    Py_RETURN_NONE;
}

static PyObject *on_c_return(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return c_end(args[2], FG_END_RETURN);
}

static PyObject *on_c_raise(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)self, (void)nargsf, (void)kwnames;
    return c_end(args[2], FG_END_RAISE);
}

/* Places within functions (kprobe.h). One where no probe is answers DISABLE, which costs nothing from then on. */

static PyObject *answer_at_place(struct monitoring *m, bool is_probed)
{
    return is_probed || !FG_CAN_DISABLE ? Py_NewRef(Py_None) : Py_NewRef(m->disable);
}

/* An instruction that begins a line is told of as an instruction only if nobody answers DISABLE to the line just before:
 * CPython goes on with what was under both. So where a probe by offset is, the line is never disabled. */
static bool is_kept_for_instruction(const struct fg_kprobe_site *at)
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
        site.func && (fg_kprobe_hit_line(&at, (int)PyLong_AsLong(args[1])) || is_kept_for_instruction(&at)));
}

static PyObject *on_instruction(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    struct site site = site_of(args[0]);
    const struct fg_kprobe_site at = {site.frame, site.tstate, site.func};

    (void)nargsf, (void)kwnames;
    return answer_at_place(monitoring_of(self),
                           site.func && fg_kprobe_hit_offset(&at, (int)PyLong_AsLong(args[1])));
}

/* The same, in programs that have imported greenlet. */

/* The call that an event begins may have the address of another that ended untold. */
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

static const struct {
    const char *name;
    vectorcallfunc callback, callback_in_greenlet;
} events[NR_EVENTS] = {
#define X(name, callback) [EVENT_##name] = {#name, callback, callback##_in_greenlet},
    EVENTS(X)
#undef X
};

/* Setting up */

static int call_monitoring(struct monitoring *m, const char *function, int id, PyObject *argument)
{
    PyObject *result = argument ? PyObject_CallMethod(m->namespace, function, "iO", id, argument)
                                : PyObject_CallMethod(m->namespace, function, "i", id);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

static long events_of_ends(struct monitoring *m)
{
    return m->bits[EVENT_PY_UNWIND] | m->bits[EVENT_PY_THROW];
}

/* PY_THROW from the start: a function may be met first as a generator that is thrown into before it ever ran. */
static long events_global(struct monitoring *m)
{
    return m->bits[EVENT_PY_START] | m->bits[EVENT_PY_THROW] | (m->has_armed ? events_of_ends(m) : 0) |
           (m->interp->hears_c_calls ? m->bits[EVENT_CALL] : 0);
}

static int set_events(struct monitoring *m, long set)
{
    PyObject *result = PyObject_CallFunction(m->set_events, "il", m->tool_id, set);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int set_local_events(struct monitoring *m, PyObject *code, long set)
{
    PyObject *id = PyLong_FromLong(m->tool_id), *bits = PyLong_FromLong(set);
    PyObject *const args[] = {id, code, bits};
    PyObject *result = id && bits ? PyObject_Vectorcall(m->set_local_events, args, 3, NULL) : NULL;

    Py_XDECREF(id);
    Py_XDECREF(bits);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int make_hooks(struct monitoring *m)
{
    PyObject *type = PyType_FromSpec(&hook_spec);

    for (int i = 0; type && i < NR_EVENTS; i++) {
        struct hook *hook = PyObject_New(struct hook, (PyTypeObject *)type);

        if (!hook)
            break;
        hook->vectorcall = events[i].callback;
        hook->monitoring = m;
        m->hooks[i] = (PyObject *)hook;
    }
    Py_XDECREF(type);
    return m->hooks[NR_EVENTS - 1] ? 0 : -1;
}

static void follow_greenlets(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    for (int i = 0; m && i < NR_EVENTS; i++)
        ((struct hook *)m->hooks[i])->vectorcall = events[i].callback_in_greenlet;
}

static int read_event_bits(struct monitoring *m)
{
    PyObject *names = PyObject_GetAttrString(m->namespace, "events");

    for (int i = 0; names && i < NR_EVENTS; i++) {
        PyObject *bit = PyObject_GetAttrString(names, events[i].name);

        m->bits[i] = bit ? PyLong_AsLong(bit) : -1;
        Py_XDECREF(bit);
    }
    Py_XDECREF(names);
    return names && !PyErr_Occurred() ? 0 : -1;
}

static int setup(struct monitoring *m)
{
    if (m->hooks[NR_EVENTS - 1])
        return 0;
    m->namespace = Py_XNewRef(PySys_GetObject("monitoring"));
    if (!m->namespace) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
        return -1;
    }
    m->set_events = PyObject_GetAttrString(m->namespace, "set_events");
    m->set_local_events = PyObject_GetAttrString(m->namespace, "set_local_events");
    m->disable = PyObject_GetAttrString(m->namespace, "DISABLE");
    m->missing = PyObject_GetAttrString(m->namespace, "MISSING");
    if (!m->set_events || !m->set_local_events || !m->disable || !m->missing)
        return -1;
    return read_event_bits(m) == 0 ? make_hooks(m) : -1;
}

/* The first free id of our order, taken. -1 with an exception: all are held. */
static int take_tool_id(struct monitoring *m)
{
    PyObject *name = PyUnicode_FromString("funcgraph");

    for (int i = 0; name && i < NR_TOOL_IDS; i++) {
        if (call_monitoring(m, "use_tool_id", tool_id_order[i], name) == 0) {
            Py_DECREF(name);
            return tool_id_order[i];
        }
        if (!PyErr_ExceptionMatches(PyExc_ValueError))
            break;
        PyErr_Clear();
    }
    Py_XDECREF(name);
    if (!PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "all six sys.monitoring tool ids are in use");
    return -1;
}

/* Asks CPython, with code that never runs. No exception is left set. */
static bool try_local_ends(struct monitoring *m)
{
    PyObject *code = (PyObject *)PyCode_NewEmpty("funcgraph", "probe", 1);
    bool can = code && set_local_events(m, code, events_of_ends(m)) == 0;

    if (!can)
        PyErr_Clear();
    Py_XDECREF(code);
    return can;
}

static int register_callbacks(struct monitoring *m, bool on)
{
    for (int i = 0; i < NR_EVENTS; i++) {
        PyObject *old = PyObject_CallMethod(m->namespace, "register_callback", "ilO", m->tool_id, m->bits[i],
                                            on ? m->hooks[i] : Py_None);

        if (!old)
            return -1;
        Py_DECREF(old);
    }
    return 0;
}

static void release_tool_id(struct monitoring *m)
{
    fg_exception aside = fg_exception_set_aside();

    /* free_tool_id clears nothing on 3.12 and 3.13: events and callbacks are taken back one by one. */
    if (set_events(m, 0) != 0 || register_callbacks(m, false) != 0 ||
        call_monitoring(m, "free_tool_id", m->tool_id, NULL) != 0)
        PyErr_Clear();
    m->tool_id = -1;
    fg_exception_put_back(aside);
}

static struct monitoring *monitoring_new(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    if (m)
        return m;
    m = interp->hooks = calloc(1, sizeof(*m));
    if (!m) {
        PyErr_NoMemory();
        return NULL;
    }
    m->interp = interp;
    m->tool_id = -1;
    return m;
}

static int install(struct fg_interp *interp)
{
    struct monitoring *m = monitoring_new(interp);

    if (!m || setup(m) != 0)
        return -1;
    m->tool_id = take_tool_id(m);
    if (m->tool_id < 0)
        return -1;
    m->has_armed = false;
    m->has_local_ends = try_local_ends(m);
    if (register_callbacks(m, true) == 0 && set_events(m, events_global(m)) == 0)
        return 0;
    release_tool_id(m);
    return -1;
}

static void remove_hooks(struct fg_interp *interp)
{
    release_tool_id(interp->hooks);
}

static void end(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    if (!m)
        return;
    interp->hooks = NULL;
    for (int i = 0; i < NR_EVENTS; i++)
        Py_XDECREF(m->hooks[i]);
    Py_XDECREF(m->namespace);
    Py_XDECREF(m->set_events);
    Py_XDECREF(m->set_local_events);
    Py_XDECREF(m->disable);
    Py_XDECREF(m->missing);
    free(m);
}

static int tool_id(const struct fg_interp *interp)
{
    const struct monitoring *m = interp->hooks;

    return m->tool_id;
}

static long events_of_users(struct monitoring *m, struct fg_func *func)
{
    long set = m->bits[EVENT_PY_START] | m->bits[EVENT_PY_RESUME] | m->bits[EVENT_PY_RETURN] |
               m->bits[EVENT_PY_YIELD];

    if (!fg_func_has_users(func))
        return 0;
    if (m->has_local_ends)
        set |= events_of_ends(m);
    return fg_cpython_wants_c_calls(func) ? set | m->bits[EVENT_CALL] : set;
}

static long events_of_kprobes(struct monitoring *m, struct fg_func *func)
{
    unsigned kinds = fg_kprobe_kinds(func);

    return (kinds ? m->bits[EVENT_LINE] : 0) | (kinds & FG_KPROBE_OFFSETS ? m->bits[EVENT_INSTRUCTION] : 0);
}

/* The events that accompany the first function somebody wants. */
static int arm_globals(struct monitoring *m)
{
    if (m->has_armed || m->has_local_ends)
        return 0;
    m->has_armed = true;
    return set_events(m, events_global(m));
}

/* A function that answered DISABLE hears of PY_START again only if CPython takes that event for a new one: what it has
 * instrumented is in `active_monitors`, and what is missing there it adds. PY_START, set globally, never is missing,
 * unless we take it out. There are ways without that: restart_events() renews every tool's events, not only ours; and
 * without the global event CPython goes through the function's code twice, and at its next call through that of every
 * other function of the program. */
static void forget_start(struct monitoring *m, PyCodeObject *code)
{
    _PyCoMonitoringData *data = code->_co_monitoring;

    if (FG_CAN_DISABLE && data)
        data->active_monitors.tools[PY_MONITORING_EVENT_PY_START] &= (uint8_t) ~(1u << m->tool_id);
}

/* CPython keeps whose INSTRUCTION events are where by offset only once an event of the code has two tools; it begins that
 * with nobody's, and whoever had them hears nothing from then on (gh-157900). So it is begun here, before ours come. */
static int keep_instructions(PyCodeObject *code)
{
    _PyCoMonitoringData *data = code->_co_monitoring;
    size_t n = (size_t)Py_SIZE(code);

    if (!data || data->per_instruction_tools)
        return 0;
    data->per_instruction_tools = PyMem_Malloc(n);
    if (!data->per_instruction_tools) {
        PyErr_NoMemory();
        return -1;
    }
    memset(data->per_instruction_tools, data->active_monitors.tools[PY_MONITORING_EVENT_INSTRUCTION], n);
    return 0;
}

/* Lines first: then CPython has what it keeps of the code. */
static int set_first_instructions(struct monitoring *m, PyCodeObject *code, long set)
{
    return set_local_events(m, (PyObject *)code, set & ~m->bits[EVENT_INSTRUCTION]) != 0 ||
                   keep_instructions(code) != 0
               ? -1
               : set_local_events(m, (PyObject *)code, set);
}

/* Local events to what the function's users and probes need. -1 with an exception. */
static int set_wanted_events(struct monitoring *m, PyCodeObject *code, struct fg_func *func)
{
    long users = events_of_users(m, func), has = local_events(m, code), set;

    if (!users &&
        fg_func_is_busy(func)) /* its last user left, and somebody still waits for ends of its calls */
        users = has & ~events_within(m);
    set = users | events_of_kprobes(m, func);
    if (set == has) /* not its first user, and not its last */
        return 0;
    if (users && arm_globals(m) != 0)
        return -1;
    if (users && !(has & m->bits[EVENT_PY_START]))
        forget_start(m, code);
    if (set & ~has & m->bits[EVENT_INSTRUCTION])
        return set_first_instructions(m, code, set);
    return set_local_events(m, (PyObject *)code, set);
}

/* Reports nothing: a function that cannot be hooked (memory is short) stays untraced, and the program goes on. */
static void sync_func(PyCodeObject *code, struct fg_func *func)
{
    fg_exception aside = fg_exception_set_aside();

    if (set_wanted_events(((struct fg_interp *)func->domain)->hooks, code, func) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

/* As sync_func, it reports nothing. */
static void hear_c_calls(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;
    fg_exception aside = fg_exception_set_aside();

    if (set_events(m, events_global(m)) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

/* Places that answered DISABLE are heard of again once their events were gone and come anew. */
static int listen(PyCodeObject *code, struct fg_func *func)
{
    struct monitoring *m = ((struct fg_interp *)func->domain)->hooks;
    long has = local_events(m, code);

    if (FG_CAN_DISABLE && (has & events_within(m)) &&
        set_local_events(m, (PyObject *)code, has & ~events_within(m)) != 0)
        return -1;
    return set_wanted_events(m, code, func);
}

const struct fg_cpython_hooks fg_cpython_hooks = {
    "sys.monitoring", install, remove_hooks, end, follow_greenlets, tool_id, sync_func, hear_c_calls, listen};

#endif
