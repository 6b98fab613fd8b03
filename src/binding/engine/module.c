/* funcgraph._engine: what controls the engine in a traced process. Here its types and functions come
 * together. */
#include <errno.h>
#include <string.h>

#include "arch/cpython/base/assumptions.h"
#include "arch/cpython/base/capabilities.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/arch.h"
#include "binding/base/sequences.h"
#include "binding/base/slots.h"
#include "binding/base/types.h"
#include "binding/capi/capi.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/core/view.h"
#include "binding/engine/exit.h"
#include "binding/engine/instance.h"
#include "binding/engine/instance_settings.h"
#include "binding/engine/latency.h"
#include "binding/engine/marker.h"
#include "binding/engine/recording.h"
#include "binding/engine/threads.h"
#include "binding/engine/tracers.h"
#include "binding/engine/untraced.h"
#include "binding/engine/waits.h"
#include "binding/event/event.h"
#include "binding/event/event_list.h"
#include "binding/event/event_names.h"
#include "binding/event/trace_event.h"
#include "binding/graph/function.h"
#include "binding/graph/ops.h"
#include "binding/graph/profile.h"
#include "binding/graph/pt_regs.h"
#include "binding/graph/registration.h"
#include "binding/graph/regs.h"
#include "binding/graph/ret_stack.h"
#include "binding/graph/symbols.h"
#include "binding/graph/trace.h"
#include "binding/graph/users.h"
#include "binding/native/native.h"
#include "binding/probe/fprobe.h"
#include "binding/probe/kprobe.h"
#include "binding/probe/kprobe_multi.h"
#include "binding/probe/kprobe_multi_ctx.h"
#include "binding/probe/kprobe_registration.h"
#include "binding/probe/kprobe_regs.h"
#include "binding/probe/ret_ip.h"
#include "binding/trigger/event_switch.h"
#include "binding/trigger/func_command.h"
#include "binding/trigger/trigger.h"
#include "engine/core/root.h"
#include "engine/core/task.h"

static PyObject *check_pattern(PyObject *Py_UNUSED(module), PyObject *argument)
{
    struct fg_pattern pattern;
    struct fg_pattern_error wrong = {.text = PyUnicode_AsUTF8(argument)};
    int error;

    if (!wrong.text)
        return NULL;
    error = fg_pattern_parse(&pattern, wrong.text, &wrong.reason, &wrong.column);
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    if (error)
        return fg_raise_pattern(&wrong);
    fg_pattern_clear(&pattern);
    Py_RETURN_NONE;
}

static PyObject *glob_match(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *glob, *text;

    if (!PyArg_ParseTuple(args, "ss:glob_match", &glob, &text))
        return NULL;
    return PyBool_FromLong(fg_glob_match(glob, text));
}

static PyObject *redacts(PyObject *Py_UNUSED(module), PyObject *args)
{
    const char *words, *name;
    struct fg_value_style style;

    if (!PyArg_ParseTuple(args, "ss:redacts", &words, &name) || fg_value_style_of(&style, 0, 0, words) != 0)
        return NULL;
    return PyBool_FromLong(fg_value_style_hides(&style, name, strlen(name)));
}

static PyObject *status(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *users = fg_users_status();

    if (!users)
        return NULL;
    return Py_BuildValue("{s:s,s:i,s:N,s:I,s:I,s:K,s:z}", "arch", fg_cpython_backend_name(), "tool_id",
                         fg_cpython_tool_id(), "users", users, "functions", fg_func_count(), "tasks",
                         fg_task_count(), "overrun", (unsigned long long)fg_overrun_total(), "killed",
                         fg_killed());
}

static PyObject *capabilities(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *all = PyDict_New();

    for (size_t i = 0; all && i < fg_nr_capabilities; i++) {
        const struct fg_capability *one = &fg_capabilities[i];

        if (PyDict_SetItemString(all, one->name, one->is_there ? Py_True : Py_False) < 0)
            Py_CLEAR(all);
    }
    return all;
}

static PyObject *capability_meanings(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *all = PyDict_New();

    for (size_t i = 0; all && i < fg_nr_capabilities; i++) {
        PyObject *meaning = PyUnicode_FromString(fg_capabilities[i].meaning);

        if (!meaning || PyDict_SetItemString(all, fg_capabilities[i].name, meaning) < 0)
            Py_CLEAR(all);
        Py_XDECREF(meaning);
    }
    return all;
}

static PyObject *killed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_BuildValue("z", fg_killed());
}

static PyObject *doctor_assumption(PyObject *Py_UNUSED(module), PyObject *argument)
{
    const char *name = PyUnicode_AsUTF8(argument);

    if (!name || fg_assumption_doctor(name) != 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"_doctor_assumption", doctor_assumption, METH_O,
     "_doctor_assumption(name): for tests: from now on what we assume about CPython under this name does not "
     "hold."},
    {"check_pattern", check_pattern, METH_O,
     "check_pattern(pattern): raise ValueError if it is not a valid filter pattern."},
    {"glob_match", glob_match, METH_VARARGS,
     "glob_match(glob, text) -> bool: whether a glob of patterns matches all of the text."},
    {"redacts", redacts, METH_VARARGS,
     "redacts(words, name) -> bool: whether a value of this name is not recorded with these words."},
    {"redact_words", fg_redact_words, METH_NOARGS,
     "redact_words() -> dict[int, str]: the words of each instance that leaves values out."},
    {"start", FG_KEYWORDS(fg_start),
     "start(directory, *, ...) -> int: record into a new ring-buffer file in `directory`; see the type "
     "stub."},
    {"wait_for_site", fg_wait_for_site, METH_NOARGS,
     "wait_for_site(): record nothing in this interpreter until the site module's start-up work is over."},
    {"stop", fg_stop, METH_O, "stop(handle): stop recording into that file and mark it finished."},
    {"capabilities", capabilities, METH_NOARGS,
     "capabilities() -> dict[str, bool]: what this Python can tell."},
    {"capability_meanings", capability_meanings, METH_NOARGS,
     "capability_meanings() -> dict[str, str]: what each of capabilities() means."},
    {"killed", killed, METH_NOARGS, "killed() -> str | None: why the kill switch has tripped."},
    {"status", status, METH_NOARGS, "status() -> dict: the state of the engine."},
    {"register_ftrace_graph", fg_register, METH_O,
     "register_ftrace_graph(ops): its functions are called from now on."},
    {"unregister_ftrace_graph", fg_unregister, METH_O,
     "unregister_ftrace_graph(ops): return when none of its functions runs any longer, except the caller "
     "itself."},
    {"users", fg_users, METH_NOARGS,
     "users() -> list[User]: all registered users, in the order of their slots."},
    {"get_ret_stack", FG_KEYWORDS(fg_get_ret_stack),
     "get_ret_stack(idx=0, task=None) -> list[RetFrame]: traced calls in progress, newest first."},
    {"find_functions", FG_KEYWORDS(fg_find_functions),
     "find_functions(patterns, notpatterns=()) -> list[Function]: the functions that match, called or not."},
    {"functions_named", fg_functions_named, METH_O,
     "functions_named(names) -> dict[str, list[Function]]: the functions that have each of these whole "
     "names."},
    {"function_of", fg_function_of_callable, METH_O, "function_of(callable) -> Function."},
    {"function_names", FG_KEYWORDS(fg_function_names),
     "function_names(patterns=None) -> list[str]: the names of all functions, or of those that match."},
    {"untraced", FG_FASTCALL(fg_call_untraced),
     "untraced(function, *args): call the function; no user sees what it calls."},
    {"apart", FG_FASTCALL(fg_call_apart),
     "apart(function, *args): call the function; no user and no other tool sees what it calls."},
    {"watch_threads", fg_watch_threads, METH_O,
     "watch_threads(function): call function(parent_tid, tid) when a thread begins, (0, tid) when it ends; "
     "None: no longer."},
    {"mark", fg_top_mark, METH_O, "mark(text) -> int: put a text into the traces of this process."},
    {"trace_printk", FG_FASTCALL(fg_top_printk),
     "trace_printk(format, *args) -> int: as mark(), shown as from the calling function."},
    {NULL, NULL, 0, NULL},
};

/* ---- types */

static int add_types(PyObject *module)
{
    struct fg_engine_state *state = fg_engine_state(module);
    const struct {
        PyType_Spec *spec;
        PyTypeObject **type;
    } types[] = {
        {&fg_ops_spec, &state->ops_type},
        {&fg_ent_spec, &state->ent_type},
        {&fg_ret_spec, &state->ret_type},
        {&fg_regs_spec, &state->regs_type},
        {&fg_partial_regs_spec, &state->partial_regs_type},
        {&fg_function_spec, &state->function_type},
        {&fg_ret_ip_spec, &state->ret_ip_type},
        {&fg_fprobe_spec, &state->fprobe_type},
        {&fg_kprobe_multi_link_spec, &state->kprobe_multi_link_type},
        {&fg_kprobe_multi_ctx_spec, &state->kprobe_multi_ctx_type},
        {&fg_kprobe_spec, &state->kprobe_type},
        {&fg_kprobe_regs_spec, &state->kprobe_regs_type},
        {&fg_profile_spec, &state->profile_type},
        {&fg_instance_spec, &state->instance_type},
        {&fg_event_spec, &state->event_type},
        {&fg_trigger_spec, &state->trigger_type},
        {&fg_event_switch_spec, &state->event_switch_type},
        {&fg_trace_event_spec, &state->trace_event_type},
        {&fg_func_command_spec, &state->func_command_type},
    };

    for (size_t i = 0; i < FG_NR_ITEMS(types); i++) {
        if (fg_add_type(module, types[i].spec, types[i].type) != 0)
            return -1;
    }
    return fg_make_type(module, &fg_buffer_spec, &state->buffer_type);
}

static int add_sequences(PyObject *module)
{
    struct fg_engine_state *state = fg_engine_state(module);
    const struct {
        PyStructSequence_Desc *desc;
        PyTypeObject **type;
    } types[] = {
        {&fg_user_desc, &state->user_type},
        {&fg_ret_frame_desc, &state->ret_frame_type},
        {&fg_perf_sample_desc, &state->perf_sample_type},
        {&fg_return_location_desc, &state->return_location_type},
        {&fg_instruction_pointer_desc, &state->instruction_pointer_type},
    };

    for (size_t i = 0; i < FG_NR_ITEMS(types); i++) {
        if (fg_add_sequence(module, types[i].desc, types[i].type) != 0)
            return -1;
    }
    return 0;
}

/* ---- the module */

static int exec_module(PyObject *module)
{
    fg_tstate_init();
    fg_engine_state(module)->kprobes = PyDict_New();
    if (!fg_engine_state(module)->kprobes)
        return -1;
    fg_event_begin();
    return add_types(module) || add_sequences(module) || PyModule_AddFunctions(module, fg_fprobe_functions) ||
                   PyModule_AddFunctions(module, fg_kprobe_multi_functions) ||
                   PyModule_AddFunctions(module, fg_kprobe_functions) ||
                   PyModule_AddFunctions(module, fg_event_functions) ||
                   PyModule_AddFunctions(module, fg_trace_event_functions) ||
                   PyModule_AddFunctions(module, fg_trigger_functions) ||
                   PyModule_AddFunctions(module, fg_native_functions) || fg_exit_add(module) ||
                   fg_capi_add(module) || fg_latency_add(module) || fg_tracers_add(module) ||
                   fg_recording_add(module) || fg_waits_add(module)
               ? -1
               : 0;
}

/* The engine is one per process; users, functions and hooks are an interpreter's own. */
static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
    FG_LAST_SLOTS,
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._engine",
    .m_doc = "The engine inside a traced process.",
    .m_size = sizeof(struct fg_engine_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = fg_engine_traverse,
    .m_clear = fg_engine_clear,
};

PyMODINIT_FUNC PyInit__engine(void)
{
    fg_engine_set_def(&module_def);
    return PyModuleDef_Init(&module_def);
}
