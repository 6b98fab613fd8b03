/* See arch.h. */
#include "arch/cpython/hook/arch.h"

#include <pthread.h>

#include "arch/cpython/base/assumptions.h"
#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/base/object.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/dump.h"
#include "arch/cpython/hook/ended.h"
#include "arch/cpython/hook/gate.h"
#include "arch/cpython/hook/gen_close.h"
#include "arch/cpython/hook/greenlet.h"
#include "arch/cpython/hook/hooks.h"
#include "arch/cpython/hook/kprobe.h"
#include "arch/cpython/hook/kprobe_named.h"
#include "arch/cpython/hook/signals.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/discovery.h"
#include "arch/cpython/read/task_name.h"
#include "engine/graph/progress.h"
#include "engine/tracer/instance_fork.h"
#include "engine/users/users.h"

/* True if this thread must detach its thread state while it waits for callbacks. With the GIL: a thread
 * may need the GIL to leave its callback. Without the GIL: a thread in a callback may have detached its
 * thread state to wait for a Python lock. If the world is then stopped, that thread attaches again only
 * after the stop, and the stop waits until we detach. A callback may begin at any time. */
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
    .sync = fg_hooks_sync_func,
    .sync_begin = fg_hooks_sync_begin,
    .sync_end = fg_hooks_sync_end,
    .drop_object = fg_object_drop,
    .is_own_call = fg_callback_is_own_call,
    .is_irq = fg_signals_is_irq,
};

static const struct fg_process_ops process_ops = {
    .task_name = fg_cpython_task_name,
    .is_in_handler = fg_signals_is_in_handler,
    .task_exit = fg_greenlet_task_exit,
    .wait_begin = wait_begin,
    .wait_end = wait_end,
    .instance_ended = fg_ended_note,
    .dump = fg_dump_note,
};

static const struct fg_discovery_ops discovery_ops = {
    .meet_module = fg_greenlet_meet_module,
    .meet_func = fg_hooks_meet_func,
    .meet_code = fg_named_kprobes_meet,
    .forget_func = fg_kprobe_function_gone,
};

/* Runs once in a process. Interpreters with their own GIL may get here at the same time. */
static void init_engine(void)
{
    fg_hook_backend = &fg_built_backend;
    fg_discovery_ops = &discovery_ops;
    fg_engine_init(&process_ops);
    fg_instances_install_fork_handlers();
}

int fg_cpython_init(struct fg_interp *interp)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (interp->is_ready)
        return 0;
    if (!interp->has_code_index && fg_code_init() != 0)
        return -1;
    interp->has_code_index = true;
    if (fg_assumptions_check(fg_code_extra_index) != 0 || (interp->is_main && fg_locks_init() != 0))
        return -1;
    pthread_once(&once, init_engine);
    interp->domain = (struct fg_domain){.arch = &arch_ops, .scope = interp};
    interp->is_ready = true;
    return 0;
}

int fg_cpython_start(struct fg_interp *interp)
{
    if (fg_cpython_init(interp) != 0)
        return -1;
    if (interp->is_installed)
        return 0;
    if (fg_built_backend.install(interp) != 0)
        return -1;
    fg_gen_close_install();
    fg_greenlet_look_for();
    fg_hooks_set_installed(interp, true);
    if (interp->is_main)
        fg_signals_watch();
    return 0;
}

void fg_cpython_stop(struct fg_interp *interp)
{
    if (!interp->is_installed || fg_users_need_hooks(interp))
        return;
    fg_progress_forget(interp);
    if (interp->is_main)
        fg_signals_unwatch();
    fg_hooks_set_installed(interp, false);
    fg_gen_close_remove();
    fg_built_backend.remove(interp);
}

const char *fg_cpython_backend_name(void)
{
    return fg_built_backend.name;
}

int fg_cpython_tool_id(void)
{
    const struct fg_interp *interp = fg_interp_known();

    return interp && interp->is_installed ? fg_built_backend.tool_id(interp) : -1;
}

/* A function's object refers to objects of its interpreter, so its record must not keep the object
 * longer than the interpreter lives. */
static void forget_object(struct fg_func *func, void *arg)
{
    PyObject *list = arg;
    PyObject *object;

    if (fg_func_interp(func) != fg_interp_known())
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
    if (interp->is_installed) /* a user is still registered */
        return;
    fg_gate_open(interp);
    fg_built_backend.end(interp);
    fg_cfunctions_end(interp);
    forget_objects();
    fg_objects_end(interp);
    fg_interp_end(interp);
}
