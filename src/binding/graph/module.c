/* The function graph's types and functions, put into the module; and the end of the interpreter. */
#include "binding/probe/kprobe.h"
#include "binding/probe/probe.h"

#include "arch/cpython/hook/arch.h"
#include "binding/base/registration.h"
#include "binding/base/types.h"
#include "binding/engine/instance.h"
#include "binding/engine/latency_registration.h"
#include "binding/probe/fprobe_registration.h"
#include "engine/tracer/instance_start.h"

static PyMethodDef functions[] = {
    {"register_ftrace_graph", fg_register, METH_O,
     "register_ftrace_graph(ops): its functions are called from now on."},
    {"unregister_ftrace_graph", fg_unregister, METH_O,
     "unregister_ftrace_graph(ops): return when none of its functions runs any more, but for the caller "
     "itself."},
    {"users", fg_users, METH_NOARGS,
     "users() -> list[User]: all registered users, in the order of their slots."},
    {"get_ret_stack", FG_KEYWORDS(fg_get_ret_stack),
     "get_ret_stack(idx=0, task=None) -> list[RetFrame]: traced calls in progress, newest first."},
    {"find_functions", FG_KEYWORDS(fg_find_functions),
     "find_functions(patterns, notpatterns=()) -> list[Function]: the functions that match, called or not."},
    {"functions_named", fg_functions_named, METH_O,
     "functions_named(names) -> dict[str, list[Function]]: the functions of each of these whole names."},
    {"function_of", fg_function_of_callable, METH_O, "function_of(callable) -> Function."},
    {"function_names", FG_KEYWORDS(fg_function_names),
     "function_names(patterns=None) -> list[str]: the names of all functions, or of those that match."},
    {NULL, NULL, 0, NULL},
};

/* ---- the end of the interpreter
 *
 * Before their world is taken apart no function of the users is called any more; and they are taken out, or what they
 * refer to would outlive it, and finalisers of the program would not run. Only when a daemon thread of the main
 * interpreter is in the middle of a callback they stay: waiting for it here could be for ever. Another interpreter ends
 * only when it has no thread left, and after that nothing of it may be in use: all of its users go. */

struct own_users {
    struct fgraph_ops *users[FG_MAX_USERS]; /* FgraphOps: with a reference */
    int n;
    bool is_main;
};

static bool is_python(struct fgraph_ops *ops)
{
    return fg_user_of(ops)->leavefunc == fg_python_user_leaves;
}

/* Under the engine's lock: nothing of Python's is called. */
static void note_and_mute(struct fgraph_ops *ops, void *arg)
{
    struct own_users *found = arg;
    bool is_c =
        !fg_user_of(ops)->leavefunc && !fg_user_of(ops)->wantsfunc; /* fprobes' goes with the last of them */

    if (fg_user_of(ops)->scope != fg_interp_known())
        return;
    if (is_python(ops)) {
        Py_INCREF(fg_python_ops_of(ops));
        fg_ops_mute(fg_python_ops_of(ops));
    }
    if (is_python(ops) || (is_c && !found->is_main))
        found->users[found->n++] = ops;
}

static void take_out(struct own_users *found, bool can_leave)
{
    for (int i = 0; i < found->n; i++) {
        struct fgraph_ops *ops = found->users[i];
        bool is_object = is_python(ops); /* the memory of any other is not ours once it has left */
        bool has_left = can_leave && fg_binding_unregister(ops) == 0;

        if (is_object && has_left)
            Py_DECREF(fg_python_ops_of(ops)); /* the engine's */
        if (is_object)
            Py_DECREF(fg_python_ops_of(ops));
    }
}

static void stop_instances(void)
{
    int handle = 0;

    while ((handle = fg_instance_next(handle, fg_interp_known())))
        fg_instance_stop(handle);
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
    take_out(&found, can_leave);
    if (can_leave) {
        fg_binding_latency_stop_all();
        fg_probes_end(state);
        fg_kprobes_end(module);
    }
    if (!found.is_main) {
        fg_binding_unregister_fprobes();
        stop_instances();
        fg_profiles_end();
        fg_cpython_end(interp);
    }
    Py_RETURN_NONE;
}

static PyMethodDef at_exit_def = {"at_exit", at_exit, METH_NOARGS, "Ends what users have in Python."};

static int register_at_exit(PyObject *module)
{
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *function = PyCFunction_New(&at_exit_def, module);
    PyObject *result = atexit && function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;

    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* ---- the module */

int fg_fgraph_add(PyObject *module)
{
    struct fg_engine_state *state = fg_engine_state(module);

    if (fg_add_type(module, &fg_ops_spec, &state->ops_type) != 0 ||
        fg_add_type(module, &fg_ent_spec, &state->ent_type) != 0 ||
        fg_add_type(module, &fg_ret_spec, &state->ret_type) != 0 ||
        fg_add_type(module, &fg_regs_spec, &state->regs_type) != 0 ||
        fg_add_type(module, &fg_function_spec, &state->function_type) != 0 ||
        fg_make_type(module, &fg_buffer_spec, &state->buffer_type) != 0 ||
        fg_add_type(module, &fg_ret_ip_spec, &state->ret_ip_type) != 0 ||
        fg_add_type(module, &fg_fprobe_spec, &state->fprobe_type) != 0 ||
        fg_add_type(module, &fg_kprobe_multi_link_spec, &state->kprobe_multi_link_type) != 0 ||
        fg_add_type(module, &fg_kprobe_multi_ctx_spec, &state->kprobe_multi_ctx_type) != 0 ||
        fg_add_sequence(module, &fg_user_desc, &state->user_type) != 0 ||
        fg_add_sequence(module, &fg_ret_frame_desc, &state->ret_frame_type) != 0 ||
        fg_add_sequence(module, &fg_return_location_desc, &state->return_location_type) != 0 ||
        fg_add_sequence(module, &fg_instruction_pointer_desc, &state->instruction_pointer_type) != 0 ||
        fg_add_type(module, &fg_kprobe_spec, &state->kprobe_type) != 0 ||
        fg_add_type(module, &fg_kprobe_regs_spec, &state->kprobe_regs_type) != 0 ||
        fg_add_type(module, &fg_profile_spec, &state->profile_type) != 0 ||
        fg_add_type(module, &fg_instance_spec, &state->instance_type) != 0)
        return -1;
    state->kprobes = PyDict_New();
    if (!state->kprobes || PyModule_AddFunctions(module, functions) != 0 ||
        PyModule_AddFunctions(module, fg_fprobe_functions) != 0 ||
        PyModule_AddFunctions(module, fg_kprobe_multi_functions) != 0 ||
        PyModule_AddFunctions(module, fg_kprobe_functions) != 0 ||
        PyModule_AddFunctions(module, fg_instance_functions) != 0)
        return -1;
    return register_at_exit(module);
}

int fg_fgraph_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct fg_engine_state *state = fg_engine_state(module);

#define X(name) Py_VISIT(state->name##_type);
    FG_ENGINE_TYPES(X)
#undef X
    Py_VISIT(state->kprobes);
    return 0;
}

int fg_fgraph_clear(PyObject *module)
{
    struct fg_engine_state *state = fg_engine_state(module);

#define X(name) Py_CLEAR(state->name##_type);
    FG_ENGINE_TYPES(X)
#undef X
    Py_CLEAR(state->kprobes);
    return 0;
}
