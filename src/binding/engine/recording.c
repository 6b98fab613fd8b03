/* Recording into a ring-buffer file of a session: start(), stop(), wait_for_site(). */
#include "binding/engine/recording.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "arch/cpython/hook/gate.h"
#include "arch/cpython/register/instances.h"
#include "arch/cpython/register/users.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/error.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/engine/instance_settings.h"
#include "binding/engine/tracers.h"

/* By enum fg_ring_mode. */
static const char *const mode_names[] = {"wait", "drop", "overwrite"};

/* The arguments of start(), not checked yet. */
struct start_arguments {
    PyObject *directory, *sets[FGRAPH_NR_FILTER_SETS], *notrace_tids;
    const char *tracer, *mode, *instance, *redact;
    Py_ssize_t max_graph_depth, thresh_us, buffer_kb, values, string_size;
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
    static char *names[] = {
        "directory",       "tracer",    "filter",  "notrace",     "graph",  "notrace_tids",
        "max_graph_depth", "thresh_us", "c_calls", "buffer_kb",   "mode",   "follow_fork",
        "after_site",      "instance",  "values",  "string_size", "redact", FG_INSTANCE_FLAGS(NAME) NULL};

    return PyArg_ParseTupleAndKeywords(
               args, kwargs, "O&|$sOOOOnnpnsppsnns" FG_INSTANCE_FLAGS(FORMAT) ":start", names,
               PyUnicode_FSConverter, &out->directory, &out->tracer, &out->sets[FGRAPH_FILTER],
               &out->sets[FGRAPH_NOTRACE], &out->sets[FGRAPH_GRAPH], &out->notrace_tids,
               &out->max_graph_depth, &out->thresh_us, &out->c_calls, &out->buffer_kb, &out->mode,
               &out->follow_fork, &out->after_site, &out->instance, &out->values, &out->string_size,
               &out->redact FG_INSTANCE_FLAGS(PLACE))
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
    PyErr_Format(PyExc_ValueError, "%s must be in %zd to %zd, got %zd", name, least, most, value);
    return -1;
}

static int make_config(const struct start_arguments *in, struct fg_instance_config *config)
{
    int mode = fg_name_index(mode_names, FG_NR_ITEMS(mode_names), in->mode);

    config->tracer = fg_tracer_named(in->tracer);
    if (!config->tracer)
        return -1;
    if (mode < 0) {
        PyErr_Format(PyExc_ValueError, "mode must be 'wait', 'drop' or 'overwrite', got '%s'", in->mode);
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
            "no_repeats and args exclude each other: calls with different arguments are different calls");
        return -1;
    }
    config->ring.directory = PyBytes_AS_STRING(in->directory);
    config->ring.buffer_bytes = (size_t)in->buffer_kb * 1024;
    config->ring.mode = (enum fg_ring_mode)mode;
    if (strlen(in->instance) >= sizeof(config->ring.instance)) {
        PyErr_Format(PyExc_ValueError, "invalid instance name '%s': must have at most %d bytes", in->instance,
                     (int)sizeof(config->ring.instance) - 1);
        return -1;
    }
    memcpy(config->ring.instance, in->instance, strlen(in->instance));
    config->filter.c_calls = in->c_calls;
    config->settings.max_graph_depth = (uint32_t)in->max_graph_depth;
    config->settings.thresh_us = (uint64_t)in->thresh_us;
    if (fg_value_style_of(&config->settings.value_style, (uint32_t)in->values, (uint32_t)in->string_size,
                          in->redact) != 0)
        return -1;
#define X(name, option) config->settings.name = in->name;
    FG_INSTANCE_FLAGS(X)
#undef X
    config->follow_fork = in->follow_fork;
    if (fg_filter_set_tids(&config->filter, Py_None, in->notrace_tids) != 0)
        return -1;
    return fg_filter_add_sets(&config->filter, in->sets);
}

static int check_interpreter(PyObject *module, const struct start_arguments *in)
{
    if (fg_engine_check_open(fg_engine_state(module), "functions can no longer be traced") != 0)
        return -1;
    if (!in->c_calls || fg_cpython_traces_c_here())
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "before CPython 3.12 C functions are traced in the main interpreter only");
    return -1;
}

/* Return: the instance's handle, or 0 with an exception. */
static int start_instance(PyObject *module, const struct start_arguments *in,
                          struct fg_instance_config *config)
{
    int handle, error;

    if (check_interpreter(module, in) != 0)
        return 0;
    error = fg_cpython_start_instance(config, in->after_site, &handle);
    if (error == -ENODEV)
        fg_raise_killed();
    else if (error && !PyErr_Occurred())
        fg_raise_errno(error, in->directory);
    return error ? 0 : handle;
}

PyObject *fg_start(PyObject *module, PyObject *args, PyObject *kwargs)
{
    struct start_arguments in = {.tracer = "function_graph",
                                 .mode = "wait",
                                 .notrace_tids = Py_None,
                                 .buffer_kb = 8192,
                                 .follow_fork = 1,
                                 .instance = "",
                                 .redact = ""};
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

PyObject *fg_stop(PyObject *Py_UNUSED(module), PyObject *argument)
{
    long handle = PyLong_AsLong(argument);

    if (handle == -1 && PyErr_Occurred())
        return NULL;
    if (handle < 1 || handle > INT_MAX || fg_cpython_stop_instance((int)handle) != 0)
        return PyErr_Format(PyExc_ValueError, "no active recording has the handle %ld", handle);
    Py_RETURN_NONE;
}

PyObject *fg_wait_for_site(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (fg_hooks_hold() != 0)
        return NULL;
    fg_gate_wait_for_site();
    fg_hooks_release();
    Py_RETURN_NONE;
}

int fg_recording_add(PyObject *module)
{
    return fg_add_names(module, "MODES", mode_names, FG_NR_ITEMS(mode_names));
}
