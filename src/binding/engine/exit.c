/* The end of the interpreter.
 *
 * Before the interpreter is taken apart no Python callback runs any longer, and all users are
 * unregistered: otherwise what they refer to would outlive the interpreter, and finalisers of the program
 * would not run. One exception: a daemon thread of the main interpreter may be in the middle of a
 * callback, and waiting for it could take for ever, so then all users stay. Another interpreter ends only
 * when it has no thread left, and nothing of it may be in use after that: all of its users go, users in C
 * too. */
#include "binding/engine/exit.h"

#include "arch/cpython/hook/arch.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/instances.h"
#include "arch/cpython/register/latency.h"
#include "arch/cpython/register/users.h"
#include "binding/capi/capi.h"
#include "binding/core/state.h"
#include "binding/event/event_list.h"
#include "binding/graph/ops_call.h"
#include "binding/graph/profile.h"
#include "binding/graph/users.h"
#include "binding/probe/kprobe_registration.h"
#include "binding/probe/probe.h"
#include "engine/tracer/instance_start.h"
#include "engine/users/users.h"

struct own_users {
    struct fgraph_ops *users[FG_MAX_USERS]; /* FgraphOps: with a reference */
    int n;
    bool is_main;
};

static bool is_python(struct fgraph_ops *ops)
{
    return fg_user_of(ops)->leavefunc == fg_python_user_leaves;
}

/* Under the engine's lock: calls nothing of Python's. */
static void note_and_mute(struct fgraph_ops *ops, void *arg)
{
    struct own_users *found = arg;
    /* The user that fprobes share leaves with the last fprobe. */
    bool is_c = !fg_user_of(ops)->leavefunc && !fg_user_of(ops)->wantsfunc;

    if (fg_user_of(ops)->scope != fg_interp_known())
        return;
    if (is_python(ops)) {
        Py_INCREF(fg_python_ops_of(ops));
        fg_ops_mute(fg_python_ops_of(ops));
    }
    if (is_python(ops) || (is_c && !found->is_main))
        found->users[found->n++] = ops;
}

static void unregister_all(struct own_users *found, bool can_leave)
{
    for (int i = 0; i < found->n; i++) {
        struct fgraph_ops *ops = found->users[i];
        bool is_object = is_python(ops); /* asked now: a C user may free its memory once it has left */
        bool has_left = can_leave && fg_cpython_unregister(ops) == 0;

        if (is_object && has_left)
            Py_DECREF(fg_python_ops_of(ops)); /* the engine's reference */
        if (is_object)
            Py_DECREF(fg_python_ops_of(ops));
    }
}

static PyObject *at_exit(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct fg_interp *interp = fg_interp_known();
    struct own_users found = {.is_main = !interp || interp->is_main};
    struct fg_engine_state *state = fg_engine_state(module);
    bool can_leave;

    state->is_closing = true;
    fg_probes_mute(state);
    fgraph_for_each(note_and_mute, &found);
    fg_kprobes_mute(state);
    can_leave = !found.is_main || fg_task_others_are_quiet();
    unregister_all(&found, can_leave);
    if (can_leave) {
        fg_cpython_latency_stop_all();
        fg_probes_end(state);
        fg_kprobes_end(module);
    }
    if (found.is_main) {
        fg_instances_process_ends();
    } else {
        fg_event_end();
        fg_cpython_unregister_fprobes();
        fg_capi_kprobes_end();
        fg_cpython_stop_instances();
        fg_profiles_end();
        fg_cpython_end(interp);
    }
    Py_RETURN_NONE;
}

static PyMethodDef at_exit_def = {"at_exit", at_exit, METH_NOARGS,
                                  "Mute and unregister all users of this interpreter."};

int fg_exit_add(PyObject *module)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = PyCFunction_New(&at_exit_def, module);
    PyObject *result = atexit && function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;

    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result ? 0 : -1;
}
