/* funcgraph._engine: what a traced process controls the engine with. Parses arguments, raises errors, no more. */
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/arch.h"

#include <errno.h>
#include <string.h>

#include "arch/cpython/hook/gate.h"
#include "arch/cpython/hook/hooks.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/symbols.h"
#include "binding/base/binding.h"
#include "binding/base/registration.h"
#include "binding/capi/capi.h"
#include "binding/engine/instance.h"
#include "binding/engine/latency.h"
#include "engine/tracer/instance_start.h"

static const char *const mode_names[] = {"wait", "drop", "overwrite", NULL};

static PyObject *raise_errno(int error, const char *path)
{
    errno = -error;
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    return PyErr_SetFromErrnoWithFilename(PyExc_OSError, path);
}

static PyObject *check_pattern(PyObject *module, PyObject *argument)
{
    struct fg_pattern pattern;
    struct fg_pattern_error wrong = {.text = PyUnicode_AsUTF8(argument)};
    int error;

    (void)module;
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

/* A sequence of patterns, or NULL for none. */
static int add_patterns(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *sequence)
{
    PyObject *patterns = sequence ? fg_pattern_tuple(sequence, fg_filter_set_names[set]) : PyTuple_New(0);
    int error = patterns ? fg_filter_add_tuple(filter, set, patterns) : -1;

    Py_XDECREF(patterns);
    return error;
}

static int find_name(const char *const names[], const char *name)
{
    for (int i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

/* start()'s arguments as they come; numbers that must not be negative. */
struct start_arguments {
    PyObject *directory, *filter, *notrace, *graph;
    const char *tracer, *mode, *instance;
    Py_ssize_t max_graph_depth, thresh_us, buffer_kb;
    int c_calls, follow_fork, after_site;
#define X(name, option) int name;
    FG_INSTANCE_FLAGS(X)
#undef X
};

static int parse_arguments(PyObject *args, PyObject *kwargs, struct start_arguments *out)
{
#define NAME(name, option) #name,
#define FORMAT(name, option) "p"
#define PLACE(name, option) , &out->name
    static char *names[] = {"directory",   "tracer",
                            "filter",      "notrace",
                            "graph",       "max_graph_depth",
                            "thresh_us",   "c_calls",
                            "buffer_kb",   "mode",
                            "follow_fork", "after_site",
                            "instance",    FG_INSTANCE_FLAGS(NAME) NULL};

    return PyArg_ParseTupleAndKeywords(
               args, kwargs, "O&|$sOOOnnpnspps" FG_INSTANCE_FLAGS(FORMAT) ":start", names,
               PyUnicode_FSConverter, &out->directory, &out->tracer, &out->filter, &out->notrace, &out->graph,
               &out->max_graph_depth, &out->thresh_us, &out->c_calls, &out->buffer_kb, &out->mode,
               &out->follow_fork, &out->after_site, &out->instance FG_INSTANCE_FLAGS(PLACE))
#undef NAME
#undef FORMAT
#undef PLACE
               ? 0
               : -1;
}

static int check_range(const char *name, Py_ssize_t value, Py_ssize_t least, Py_ssize_t most)
{
    if (value >= least && value <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "%s: %zd is out of range (%zd to %zd)", name, value, least, most);
    return -1;
}

static int make_config(const struct start_arguments *in, struct fg_instance_config *config)
{
    int mode = find_name(mode_names, in->mode);

    config->tracer = fg_tracer_named(in->tracer);
    if (!config->tracer)
        return -1;
    if (mode < 0) {
        PyErr_Format(PyExc_ValueError, "mode '%s' is unknown; there are wait, drop and overwrite", in->mode);
        return -1;
    }
#define CHECK(name, least, most)                                                                             \
    if (check_range(#name, in->name, least, most) != 0)                                                      \
        return -1;
    FG_INSTANCE_LIMITS(CHECK)
#undef CHECK
    if (in->no_repeats && in->args) {
        PyErr_SetString(
            PyExc_ValueError,
            "no_repeats and args: calls with different arguments are not the same call; choose one");
        return -1;
    }
    config->ring.directory = PyBytes_AS_STRING(in->directory);
    config->ring.buffer_bytes = (size_t)in->buffer_kb * 1024;
    config->ring.mode = (enum fg_ring_mode)mode;
    if (strlen(in->instance) >= sizeof(config->ring.instance)) {
        PyErr_Format(PyExc_ValueError, "instance '%s': the name is longer than %d bytes", in->instance,
                     (int)sizeof(config->ring.instance) - 1);
        return -1;
    }
    memcpy(config->ring.instance, in->instance, strlen(in->instance));
    config->filter.c_calls = in->c_calls;
    config->settings.max_graph_depth = (uint32_t)in->max_graph_depth;
    config->settings.thresh_us = (uint64_t)in->thresh_us;
#define X(name, option) config->settings.name = in->name;
    FG_INSTANCE_FLAGS(X)
#undef X
    config->follow_fork = in->follow_fork;
    if (add_patterns(&config->filter, FGRAPH_FILTER, in->filter) != 0 ||
        add_patterns(&config->filter, FGRAPH_NOTRACE, in->notrace) != 0 ||
        add_patterns(&config->filter, FGRAPH_GRAPH, in->graph) != 0)
        return -1;
    return 0;
}

static int check_interpreter(PyObject *module, const struct start_arguments *in)
{
    if (fg_engine_state(module)->is_closing) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is ending: nothing can be traced any more");
        return -1;
    }
#if !FG_HAVE_MONITORING
    if (in->c_calls && PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "before CPython 3.12 C functions are traced in the main interpreter only");
        return -1;
    }
#endif
    (void)in;
    return 0;
}

/* The instance's handle, or 0 with an exception. */
static int start_instance(PyObject *module, const struct start_arguments *in,
                          struct fg_instance_config *config)
{
    struct fg_interp *interp;
    int handle, error;

    if (check_interpreter(module, in) != 0 || fg_hooks_hold() != 0)
        return 0;
    interp = fg_interp_known();
    config->scope = interp;
    if (in->after_site)
        fg_cpython_wait_for_site();
    if (config->settings.retaddr || config->settings.stack_trace)
        fg_code_discover_callers();
    error = fg_symbols_meet_named_c(interp, &config->filter);
    if (!error)
        error = fg_instance_start(config, &handle);
    if (error)
        raise_errno(error, PyBytes_AS_STRING(in->directory));
    fg_hooks_release();
    return error ? 0 : handle;
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct start_arguments in = {
        .tracer = "function_graph", .mode = "wait", .buffer_kb = 8192, .follow_fork = 1, .instance = ""};
    struct fg_instance_config config = {0};
    int handle = 0;

    if (parse_arguments(args, kwargs, &in) != 0)
        return NULL;
    if (make_config(&in, &config) == 0)
        handle = start_instance(module, &in, &config);
    fg_filter_clear(&config.filter);
    Py_DECREF(in.directory);
    return handle ? PyLong_FromLong(handle) : NULL;
}

static PyObject *stop(PyObject *module, PyObject *argument)
{
    long handle = PyLong_AsLong(argument);
    int error;

    (void)module;
    if (handle == -1 && PyErr_Occurred())
        return NULL;
    /* Of this interpreter: its functions' hooks are its own. */
    error = handle > 0 && fg_instance_next((int)handle - 1, fg_interp_known()) == handle
                ? fg_instance_stop((int)handle)
                : -EINVAL;
    fg_hooks_stop_if_unused();
    if (error)
        return PyErr_Format(PyExc_ValueError, "handle %ld is not active", handle);
    Py_RETURN_NONE;
}

static PyObject *wait_for_site(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (fg_hooks_hold() != 0)
        return NULL;
    fg_cpython_wait_for_site();
    fg_hooks_release();
    Py_RETURN_NONE;
}

struct user_facts {
    const char *name;
    int slot;
    unsigned long long generation, nmissed;
};

struct users_facts {
    struct user_facts users[FG_MAX_USERS];
    Py_ssize_t n;
};

/* Under the engine's lock, where nothing of Python's may be called: what it frees may come back to us. */
static void note_user(struct fgraph_ops *ops, void *arg)
{
    struct users_facts *facts = arg;

    if (fg_user_of(ops)->scope != fg_interp_known())
        return;
    facts->users[facts->n++] = (struct user_facts){ops->name, fg_user_of(ops)->idx,
                                                   fg_user_of(ops)->generation, fgraph_nmissed(ops)};
}

static PyObject *user_list(void)
{
    struct users_facts facts = {.n = 0};
    PyObject *list = PyList_New(0);

    fgraph_for_each(note_user, &facts);
    for (Py_ssize_t i = 0; list && i < facts.n; i++) {
        const struct user_facts *at = &facts.users[i];
        PyObject *user = Py_BuildValue("{s:s,s:i,s:K,s:K}", "name", at->name, "slot", at->slot, "generation",
                                       at->generation, "nmissed", at->nmissed);

        if (!user || PyList_Append(list, user) != 0)
            Py_CLEAR(list);
        Py_XDECREF(user);
    }
    return list;
}

static PyObject *status(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    PyObject *users = user_list();

    (void)module;
    if (!users)
        return NULL;
    return Py_BuildValue("{s:s,s:i,s:N,s:I,s:I,s:K,s:z}", "arch", fg_cpython_hooks.name, "tool_id",
                         fg_cpython_tool_id(), "users", users, "functions", fg_func_count(), "tasks",
                         fg_task_count(), "overrun", (unsigned long long)fg_overrun_total(), "killed",
                         fg_killed());
}

static PyMethodDef methods[] = {
    {"check_pattern", check_pattern, METH_O,
     "check_pattern(pattern): raise ValueError if it is not a valid filter pattern."},
    {"start", FG_KEYWORDS(start),
     "start(directory, *, ...) -> int: trace into a new ring-buffer file in `directory`; see the type stub."},
    {"wait_for_site", wait_for_site, METH_NOARGS,
     "wait_for_site(): record nothing in this interpreter until the site module's start-up work is over."},
    {"stop", stop, METH_O, "stop(handle): stop tracing into that file and mark it finished."},
    {"status", status, METH_NOARGS, "status() -> dict: what the engine holds."},
    {NULL, NULL, 0, NULL},
};

/* A tuple of names under `attribute`. */
static int add_names(PyObject *module, const char *attribute, const char *const names[], Py_ssize_t n)
{
    PyObject *tuple = PyTuple_New(n);
    int error = tuple ? 0 : -1;

    for (Py_ssize_t i = 0; !error && i < n; i++) {
        PyObject *name = PyUnicode_FromString(names[i]);

        if (name)
            PyTuple_SET_ITEM(tuple, i, name);
        else
            error = -1;
    }
    if (!error)
        error = PyModule_AddObjectRef(module, attribute, tuple);
    Py_XDECREF(tuple);
    return error;
}

static int add_object(PyObject *module, const char *attribute, PyObject *object)
{
    int error = object ? PyModule_AddObjectRef(module, attribute, object) : -1;

    Py_XDECREF(object);
    return error;
}

static int exec_module(PyObject *module)
{
    const char *tracers[FG_MAX_TRACERS];
    Py_ssize_t nr_tracers = 0;

    fg_tstate_init();
    for (const struct fg_tracer *tracer; (tracer = fg_tracer_at((unsigned)nr_tracers)); nr_tracers++)
        tracers[nr_tracers] = tracer->name;
    if (add_names(module, "TRACERS", tracers, nr_tracers) != 0 || fg_fgraph_add(module) != 0 ||
        fg_capi_add(module) != 0 || fg_latency_add(module) != 0 ||
        add_object(module, "INSTANCE_FLAGS", fg_instance_flags()) != 0 ||
        add_object(module, "INSTANCE_LIMITS", fg_instance_limits()) != 0 ||
        PyModule_AddIntConstant(module, "INSTANCE_NAME_BYTES", FG_INSTANCE_NAME_BYTES - 1) != 0)
        return -1;
    return add_names(module, "MODES", mode_names, 3);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
#if PY_VERSION_HEX >= 0x030C0000
    /* The engine is one per process; users, functions and hooks are an interpreter's own. */
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

struct PyModuleDef fg_engine_module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._engine",
    .m_doc = "The engine inside a traced process.",
    .m_size = sizeof(struct fg_engine_state),
    .m_methods = methods,
    .m_slots = slots,
    .m_traverse = fg_fgraph_traverse,
    .m_clear = fg_fgraph_clear,
};

PyMODINIT_FUNC PyInit__engine(void)
{
    return PyModuleDef_Init(&fg_engine_module_def);
}
