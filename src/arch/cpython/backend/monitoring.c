/* Hooking through sys.monitoring (PEP 669), CPython 3.12 and later.
 *
 * The global event PY_START finds functions: a function gets its record at its first call. If it has no
 * users, the callback returns DISABLE, and later calls cost nothing. If it has users, it gets local
 * events. PY_UNWIND can be local from 3.15 on (gh-142186). Before that it is set globally, when the
 * first function gets users. */
#include "arch/cpython/backend/monitoring.h"

#if FG_HAVE_MONITORING

#include <stddef.h>
#include <stdlib.h>

#include "arch/cpython/backend/built_backend.h"
#include "arch/cpython/base/assumptions.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/hook/kprobe.h"
#include "arch/cpython/hook/raises.h"
#include "arch/cpython/read/code.h"
#include "engine/graph/user_list.h"

#define NR_TOOL_IDS 6
/* Ids 4 and 3 have no conventional user, so they come first. The ids that PEP 669 reserves for
 * coverage, profilers and debuggers come last. */
static const int tool_id_order[NR_TOOL_IDS] = {4, 3, 5, 1, 2, 0};

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

static int call_monitoring(struct monitoring *m, const char *function, int id, PyObject *argument)
{
    PyObject *result = argument ? PyObject_CallMethod(m->module, function, "iO", id, argument)
                                : PyObject_CallMethod(m->module, function, "i", id);

    Py_XDECREF(result);
    return result ? 0 : -1;
}

static long events_of_ends(struct monitoring *m)
{
    return m->bits[EVENT_PY_UNWIND] | m->bits[EVENT_PY_THROW];
}

/* PY_THROW is always on: a function may be met first when an exception is thrown into its generator
 * before that has run. */
static long events_global(struct monitoring *m)
{
    return m->bits[EVENT_PY_START] | m->bits[EVENT_PY_THROW] | (m->has_armed ? events_of_ends(m) : 0) |
           (m->interp->hooks_c_calls ? m->bits[EVENT_CALL] : 0) |
           (fg_raises_has(m->interp, FG_RAISES) ? m->bits[EVENT_RAISE] : 0) |
           (fg_raises_has(m->interp, FG_RERAISES) ? m->bits[EVENT_RERAISE] : 0);
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
        hook->vectorcall = fg_monitoring_events[i].callback;
        hook->monitoring = m;
        m->hooks[i] = (PyObject *)hook;
    }
    Py_XDECREF(type);
    return m->hooks[NR_EVENTS - 1] ? 0 : -1;
}

void fg_backend_follow_greenlets(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    for (int i = 0; m && i < NR_EVENTS; i++)
        ((struct hook *)m->hooks[i])->vectorcall = fg_monitoring_events[i].callback_in_greenlet;
}

static int read_event_bits(struct monitoring *m)
{
    PyObject *names = PyObject_GetAttrString(m->module, "events");

    for (int i = 0; names && i < NR_EVENTS; i++) {
        PyObject *bit = PyObject_GetAttrString(names, fg_monitoring_events[i].name);

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
    m->module = Py_XNewRef(PySys_GetObject("monitoring"));
    if (!m->module) {
        PyErr_SetString(PyExc_RuntimeError, "this interpreter has no sys.monitoring");
        return -1;
    }
    m->set_events = PyObject_GetAttrString(m->module, "set_events");
    m->set_local_events = PyObject_GetAttrString(m->module, "set_local_events");
    m->disable = PyObject_GetAttrString(m->module, "DISABLE");
    m->missing = PyObject_GetAttrString(m->module, "MISSING");
    if (!m->set_events || !m->set_local_events || !m->disable || !m->missing)
        return -1;
    return read_event_bits(m) == 0 ? make_hooks(m) : -1;
}

/* Takes the first free id in our order. -1 with an exception: all are in use. */
static int take_tool_id(struct monitoring *m)
{
    PyObject *name = PyUnicode_FromString("funcgraph");

    for (int i = 0; name && i < NR_TOOL_IDS; i++) {
        if (call_monitoring(m, "use_tool_id", tool_id_order[i], name) == 0) {
            fg_tool_name = name;
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

/* True if PY_UNWIND and PY_THROW can be local. Tried on code that never runs. No exception is left set. */
static bool try_local_ends(struct monitoring *m)
{
    PyObject *code = (PyObject *)PyCode_NewEmpty("funcgraph", "probe", 1);
    bool can = code && set_local_events(m, code, events_of_ends(m)) == 0;

    if (!can)
        PyErr_Clear();
    Py_XDECREF(code);
    return can;
}

/* Checks the assumption MONITORING: that our reading of tools and local events agrees with
 * sys.monitoring. Return: 0; -1 with an exception. */
static int check_data(struct monitoring *m)
{
    const PyThreadState *tstate = PyThreadState_Get();
    PyObject *tool = PyObject_CallMethod(m->module, "get_tool", "i", m->tool_id);
    PyCodeObject *code = tool ? PyCode_NewEmpty("funcgraph", "probe", 1) : NULL;
    int error = code ? set_local_events(m, (PyObject *)code, m->bits[EVENT_PY_RETURN]) : -1;

    if (!error && (!fg_assumption_holds(FG_ASSUME_MONITORING,
                                        (uintptr_t)tstate->interp->monitoring_tool_names[m->tool_id],
                                        (uintptr_t)tool) ||
                   !fg_assumption_holds(FG_ASSUME_MONITORING, (uintptr_t)local_events(m, code),
                                        (uintptr_t)m->bits[EVENT_PY_RETURN])))
        error = fg_assumption_refuse(FG_ASSUME_MONITORING);
    Py_XDECREF(tool);
    Py_XDECREF(code);
    return error;
}

static int register_callbacks(struct monitoring *m, bool on)
{
    for (int i = 0; i < NR_EVENTS; i++) {
        PyObject *old = PyObject_CallMethod(m->module, "register_callback", "ilO", m->tool_id, m->bits[i],
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

    /* On 3.12 and 3.13 free_tool_id clears nothing, so remove events and callbacks one by one. */
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

int fg_backend_install(struct fg_interp *interp)
{
    struct monitoring *m = monitoring_new(interp);

    if (!m || setup(m) != 0)
        return -1;
    m->tool_id = take_tool_id(m);
    if (m->tool_id < 0)
        return -1;
    m->has_armed = false;
    m->has_local_ends = try_local_ends(m);
    if (check_data(m) == 0 && register_callbacks(m, true) == 0 && set_events(m, events_global(m)) == 0)
        return 0;
    release_tool_id(m);
    return -1;
}

void fg_backend_remove(struct fg_interp *interp)
{
    release_tool_id(interp->hooks);
}

void fg_backend_end(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    if (!m)
        return;
    interp->hooks = NULL;
    for (int i = 0; i < NR_EVENTS; i++)
        Py_XDECREF(m->hooks[i]);
    Py_XDECREF(m->module);
    Py_XDECREF(m->set_events);
    Py_XDECREF(m->set_local_events);
    Py_XDECREF(m->disable);
    Py_XDECREF(m->missing);
    free(m);
}

int fg_backend_tool_id(const struct fg_interp *interp)
{
    const struct monitoring *m = interp->hooks;

    return m->tool_id;
}

/* Suspend, resume and return. */
static long events_after_entry(struct monitoring *m)
{
    return m->bits[EVENT_PY_RESUME] | m->bits[EVENT_PY_RETURN] | m->bits[EVENT_PY_YIELD] |
           (m->has_local_ends ? m->bits[EVENT_PY_UNWIND] : 0);
}

static long events_of_users(struct monitoring *m, struct fg_func *func)
{
    /* PY_THROW may report an entry too. */
    long set = m->bits[EVENT_PY_START] | (m->has_local_ends ? m->bits[EVENT_PY_THROW] : 0);

    if (!fg_func_has_users(func))
        return 0;
    if (fg_func_wants_returns(func))
        set |= events_after_entry(m);
    return fg_hooks_wants_c_calls(func) ? set | m->bits[EVENT_CALL] : set;
}

static long events_of_kprobes(struct monitoring *m, struct fg_func *func)
{
    unsigned kinds = fg_kprobe_kinds(func);

    return (kinds ? m->bits[EVENT_LINE] : 0) | (kinds & FG_KPROBE_OFFSETS ? m->bits[EVENT_INSTRUCTION] : 0);
}

/* Sets the global events that the first function with users needs. */
static int arm_globals(struct monitoring *m)
{
    if (m->has_armed || m->has_local_ends)
        return 0;
    m->has_armed = true;
    return set_events(m, events_global(m));
}

/* Sets LINE first, which makes CPython allocate its monitoring data of the code object. */
static int set_first_instructions(struct monitoring *m, PyCodeObject *code, long set)
{
    return set_local_events(m, (PyObject *)code, set & ~m->bits[EVENT_INSTRUCTION]) != 0 ||
                   fg_instruction_tools_make(code) != 0
               ? -1
               : set_local_events(m, (PyObject *)code, set);
}

static int change_local_events(struct monitoring *m, PyCodeObject *code, long has, long set)
{
    if (set == has) /* other users need the same events */
        return 0;
    if ((set & m->bits[EVENT_PY_RETURN]) && arm_globals(m) != 0)
        return -1;
    if (set & ~has & m->bits[EVENT_PY_START])
        fg_local_start_forget(code, m->tool_id);
    if (set & ~has & m->bits[EVENT_INSTRUCTION])
        return set_first_instructions(m, code, set);
    return set_local_events(m, (PyObject *)code, set);
}

/* Tells the engine whether only the function's entry is hooked. Where callbacks may not return DISABLE, the
 * global PY_START hooks the entries of all functions. */
static void report_return_hooks(struct monitoring *m, const PyCodeObject *code, struct fg_func *func)
{
    long set = local_events(m, code);
    bool is_hooked = !FG_CAN_DISABLE || (set & m->bits[EVENT_PY_START]);
    bool entry_only = is_hooked && !(set & m->bits[EVENT_PY_RETURN]);

    if (entry_only != atomic_load_explicit(&func->entry_hook_only, memory_order_relaxed))
        fg_func_set_return_hooks(func, !entry_only);
}

/* Has all places of a function report their calls again, if a user wants calls of which some places have
 * stopped to report (silent_call.h). Removes CALL: CPython sets it at each place when it is set again.
 * Return: the local events that are left, or -1 with an exception. */
static long hear_calls(struct monitoring *m, PyCodeObject *code, struct fg_func *func, long has)
{
    long left = has & ~m->bits[EVENT_CALL];

    atomic_store_explicit(&func->has_silent_calls, false, memory_order_relaxed);
    return set_local_events(m, (PyObject *)code, left) == 0 ? left : -1;
}

/* Decides whether places of a function may stop to report their calls. Return: true: some have, and must
 * report them again. */
static bool settle_silence(struct monitoring *m, struct fg_func *func)
{
    bool may = FG_CAN_DISABLE && fg_hooks_wants_c_calls(func) && !fg_hooks_wants_all_c_calls(func);

    atomic_store_explicit(&func->may_silence_calls, may, memory_order_relaxed);
    return (!may || m->interp->hooks_c_calls) &&
           atomic_load_explicit(&func->has_silent_calls, memory_order_relaxed);
}

/* Sets the local events that the function's users and kprobes need. -1 with an exception. */
static int set_requested_events(struct monitoring *m, PyCodeObject *code, struct fg_func *func)
{
    long users = events_of_users(m, func), has = local_events(m, code);
    int error;

    if (settle_silence(m, func))
        has = hear_calls(m, code, func, has);
    if (has < 0)
        return -1;
    /* users left, but the return of a call in progress is still wanted */
    if (fg_func_has_pending_returns(func))
        users |= has & ~events_within(m);
    error = change_local_events(m, code, has, users | events_of_kprobes(m, func));
    report_return_hooks(m, code, func);
    return error;
}

/* Errors are not reported. A function that cannot be hooked (memory is short) stays untraced, and the
 * program continues. */
void fg_backend_sync(PyCodeObject *code, struct fg_func *func)
{
    fg_exception aside = fg_exception_set_aside();

    if (set_requested_events(fg_func_interp(func)->hooks, code, func) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

/* Functions with places that have stopped to report calls. */
struct silent_functions {
    const struct fg_interp *interp;
    size_t n, most;
    struct fg_func *items[];
};

static void note_silent(struct fg_func *func, void *arg)
{
    struct silent_functions *found = arg;

    if (found->n < found->most && fg_func_interp(func) == found->interp &&
        atomic_load_explicit(&func->has_silent_calls, memory_order_relaxed))
        found->items[found->n++] = func;
}

/* Has all places report their calls again. If memory is short, those stay silent that are. */
static void hear_all_calls(struct fg_interp *interp)
{
    size_t most = fg_func_count();
    struct silent_functions *found = malloc(sizeof(*found) + most * sizeof(found->items[0]));

    if (!found)
        return;
    *found = (struct silent_functions){.interp = interp, .most = most};
    fg_func_for_each(note_silent, found);
    for (size_t i = 0; i < found->n; i++) {
        PyCodeObject *code = fg_code_of(found->items[i]);

        if (code)
            fg_backend_sync(code, found->items[i]);
        Py_XDECREF(code);
    }
    free(found);
}

/* Errors are not reported, as in fg_backend_sync(). */
void fg_backend_hook_c_calls(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;
    fg_exception aside = fg_exception_set_aside();

    if (interp->hooks_c_calls)
        hear_all_calls(interp);
    if (set_events(m, events_global(m)) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

int fg_backend_follow_raises(struct fg_interp *interp)
{
    struct monitoring *m = interp->hooks;

    return set_events(m, events_global(m));
}

/* CPython enables events again at places whose callback returned DISABLE when the events are removed
 * and set again. */
int fg_backend_listen(PyCodeObject *code, struct fg_func *func)
{
    struct monitoring *m = fg_func_interp(func)->hooks;
    long has = local_events(m, code);

    if (FG_CAN_DISABLE && (has & events_within(m)) &&
        set_local_events(m, (PyObject *)code, has & ~events_within(m)) != 0)
        return -1;
    return set_requested_events(m, code, func);
}

#endif
