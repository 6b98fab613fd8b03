/* Starting and stopping the hooks; the gate at start-up. */
#include "arch.h"

#include <pthread.h>
#include <string.h>

#include "callback.h"
#include "cfunction.h"
#include "code.h"
#include "engine/instance.h"
#include "gen_close.h"
#include "greenlet.h"
#include "object.h"
#include "signals.h"

static bool try_ref(void *code)
{
    return fg_object_try_ref(code);
}

static void set_hears(struct fg_interp *interp, bool hears)
{
    if (hears == interp->hears_c_calls)
        return;
    interp->hears_c_calls = hears;
    fg_cpython_hooks.hear_c_calls(interp);
}

static bool is_heard(struct fg_func *func)
{
    return fg_func_is_wanted_everywhere(func) || fg_func_is_busy(func);
}

/* Hearing of all calls of C functions costs the whole program: only as long as some user wants one of them wherever it is
 * called, or waits for the end of such a call. */
static void sync_c(struct fg_func *func)
{
    struct fg_interp *interp = func->domain;
    bool hears =
        fg_func_is_wanted_everywhere(func) || (interp->hears_c_calls && fg_cfunctions_any(interp, is_heard));

    set_hears(interp, hears);
}

/* The code object of a function that is hooked: it may end meanwhile, so it is kept. New reference, or NULL. */
static PyCodeObject *code_of(struct fg_func *func)
{
    PyCodeObject *code = func->arch_data;
    const struct fg_interp *interp = func->domain;

    return interp->is_installed && fg_func_if_live(func, try_ref) ? code : NULL;
}

static void sync_func(struct fg_func *func)
{
    const struct fg_interp *interp = func->domain;
    PyCodeObject *code;

    if (func->flags & FG_FUNC_C) {
        if (interp->is_installed)
            sync_c(func);
        return;
    }
    code = code_of(func);
    if (code)
        fg_cpython_hooks.sync(code, func);
    Py_XDECREF(code);
}

static void sync_begin(void)
{
    fg_lock(FG_LOCK_EVENTS);
}

static void sync_end(void)
{
    fg_unlock(FG_LOCK_EVENTS);
}

void fg_cpython_sync(struct fg_func *func)
{
    sync_begin();
    sync_func(func);
    sync_end();
}

int fg_cpython_listen(struct fg_func *func)
{
    PyCodeObject *code = code_of(func);
    int error;

    fg_lock(FG_LOCK_EVENTS);
    error = code ? fg_cpython_hooks.listen(code, func) : 0;
    fg_unlock(FG_LOCK_EVENTS);
    Py_XDECREF(code);
    return error;
}

void fg_cpython_sync_new(PyCodeObject *code, struct fg_func *func)
{
    const struct fg_interp *interp = func->domain;

    fg_lock(FG_LOCK_EVENTS);
    if (interp->is_installed)
        fg_cpython_hooks.sync(code, func);
    fg_unlock(FG_LOCK_EVENTS);
}

void fg_cpython_sync_new_c(struct fg_func *func)
{
    const struct fg_interp *interp = func->domain;

    fg_lock(FG_LOCK_EVENTS);
    if (interp->is_installed)
        sync_c(func);
    fg_unlock(FG_LOCK_EVENTS);
}

/* A thread that is in a callback may need the GIL to leave it. Without the GIL it may have let go of its thread state
 * there, to wait for a lock of Python's, and gets it back only when a stop of the world is over: that waits for us, if
 * we keep ours; and a callback may begin at any time. */
static bool must_let_go(void)
{
#ifdef Py_GIL_DISABLED
    return true;
#else
    return !fg_task_others_are_quiet();
#endif
}

static void *wait_begin(void)
{
    return fg_has_tstate() && must_let_go() ? PyEval_SaveThread() : NULL;
}

static void wait_end(void *held)
{
    if (held)
        PyEval_RestoreThread(held);
}

static const struct fg_arch_ops arch_ops = {
    .name = "cpython",
    .sync = sync_func,
    .sync_begin = sync_begin,
    .sync_end = sync_end,
    .task_name = fg_cpython_task_name,
    .task_exit = fg_greenlet_task_exit,
    .wait_begin = wait_begin,
    .wait_end = wait_end,
    .drop_object = fg_object_drop,
    .is_own_call = fg_callback_is_own_call,
    .is_irq = fg_signals_is_irq,
};

/* From here on no function's events are set any more, or they are. */
static void set_installed(struct fg_interp *interp, bool on)
{
    fg_lock(FG_LOCK_EVENTS);
    set_hears(interp, false);
    interp->is_installed = on;
    fg_unlock(FG_LOCK_EVENTS);
}

/* Once in a process: other interpreters may come at the same time, with a GIL of their own. */
static void init_engine(void)
{
    fg_engine_init(&arch_ops);
    fg_instances_install_fork_handlers();
}

int fg_cpython_init(struct fg_interp *interp)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (interp->has_code_index)
        return 0;
    if (fg_code_init() != 0 || (interp->is_main && fg_locks_init() != 0))
        return -1;
    pthread_once(&once, init_engine);
    interp->has_code_index = true;
    return 0;
}

int fg_cpython_start(struct fg_interp *interp)
{
    if (fg_cpython_init(interp) != 0)
        return -1;
    if (interp->is_installed)
        return 0;
    if (fg_cpython_hooks.install(interp) != 0)
        return -1;
    fg_gen_close_install();
    fg_greenlet_look_for();
    set_installed(interp, true);
    if (interp->is_main)
        fg_signals_watch();
    return 0;
}

void fg_cpython_stop(struct fg_interp *interp)
{
    if (!interp->is_installed || fgraph_count_in(interp))
        return;
    if (interp->is_main)
        fg_signals_unwatch();
    set_installed(interp, false);
    fg_gen_close_remove();
    fg_cpython_hooks.remove(interp);
}

int fg_cpython_tool_id(void)
{
    const struct fg_interp *interp = fg_interp_known();

    return interp && interp->is_installed ? fg_cpython_hooks.tool_id(interp) : -1;
}

_Atomic unsigned fg_cpython_needs_look;

void fg_cpython_look(void)
{
    atomic_fetch_add(&fg_cpython_needs_look, 1);
    fg_plain_hold();
}

void fg_cpython_look_no_more(void)
{
    atomic_fetch_sub(&fg_cpython_needs_look, 1);
    fg_plain_release();
}

static void open_gate(struct fg_interp *interp)
{
    PyCodeObject *gate = atomic_exchange(&interp->gate, NULL);

    if (gate)
        fg_cpython_look_no_more();
    Py_XDECREF(gate);
}

/* What stands for a function above us refers to its interpreter's objects: no record may keep it longer than that. */
static void forget_object(struct fg_func *func, void *arg)
{
    PyObject *list = arg;
    PyObject *object;

    if (func->domain != fg_interp_known())
        return;
    object = atomic_exchange(&func->object, NULL);
    if (object && PyList_Append(list, object) == 0)
        Py_DECREF(object);
}

static void forget_objects(void)
{
    PyObject *list = PyList_New(0);

    if (list)
        fg_func_for_each(forget_object, list);
    else
        PyErr_Clear();
    Py_XDECREF(list);
}

void fg_cpython_end(struct fg_interp *interp)
{
    fg_cpython_stop(interp);
    if (interp->is_installed) /* some user has stayed */
        return;
    open_gate(interp);
    fg_cpython_hooks.end(interp);
    fg_cfunctions_end(interp);
    forget_objects();
    fg_objects_end(interp);
    fg_interp_end(interp);
}

bool fg_cpython_wants_c_calls(struct fg_func *func)
{
    struct fg_task *task = fg_task_current();
    bool has_entered =
        task && fg_guard_enter(task); /* else it is held further out: the list stays either way */
    const struct fg_user_list *list =
        task ? atomic_load_explicit(&func->users, memory_order_acquire) : &fg_no_users;
    bool wants = false;

    for (uint32_t i = 0; i < list->n && !wants; i++)
        wants = fg_user_of(atomic_load_explicit(&list->users[i].ops, memory_order_relaxed))->filter.c_calls;
    if (has_entered)
        fg_guard_leave(task);
    return wants;
}

bool fg_cpython_wants_c_call(struct fg_func *func, struct fg_func *caller)
{
    return fg_func_has_users(func) &&
           (fg_func_is_wanted_everywhere(func) || (caller && fg_cpython_wants_c_calls(caller)));
}

static bool is_site_main(fg_pyframe *frame)
{
    PyCodeObject *code = fg_pyframe_code(frame);
    PyObject *module = fg_dict_get(frame->f_globals, "__name__");
    bool is_main = PyUnicode_CompareWithASCIIString(code->co_qualname, "main") == 0 && module &&
                   PyUnicode_Check(module) && PyUnicode_CompareWithASCIIString(module, "site") == 0;

    Py_XDECREF(module);
    return is_main;
}

void fg_cpython_wait_for_site(void)
{
    struct fg_interp *interp = fg_interp_known();
    fg_pyframe *frame = fg_complete_pyframe(fg_current_pyframe(fg_tstate()));

    while (frame && !is_site_main(frame))
        frame = fg_complete_pyframe(frame->previous);
    if (!frame || !interp || atomic_load(&interp->gate))
        return;
    atomic_store(&interp->gate, (PyCodeObject *)Py_NewRef(fg_pyframe_code(frame)));
    fg_cpython_look();
}

bool fg_cpython_gate_is_shut(PyThreadState *tstate)
{
    struct fg_interp *interp = fg_interp_known();
    const PyCodeObject *gate = interp ? atomic_load_explicit(&interp->gate, memory_order_relaxed) : NULL;
    /* The evaluator's own frame is not linked to its caller yet: the chain is that of the thread. */
    fg_pyframe *frame = gate ? fg_complete_pyframe(fg_current_pyframe(tstate)) : NULL;

    while (frame && fg_pyframe_code(frame) != gate)
        frame = fg_complete_pyframe(frame->previous);
    if (frame)
        return true;
    if (gate) {
        open_gate(interp);
        fg_greenlet_look_for(); /* no function was met so far */
    }
    return false;
}
