/* What an instance records. funcgraph.instance decides what is allowed; here are arguments and errors. */
#include "binding/engine/instance_settings.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "arch/cpython/base/interp.h"
#include "arch/cpython/register/instances.h"
#include "binding/core/filter.h"
#include "binding/engine/instance_object.h"
#include "binding/engine/tracers.h"
#include "binding/graph/users.h"
#include "engine/event/event.h"
#include "engine/tracer/instance.h"

PyObject *fg_instance_py_set_tracer(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    const struct fg_tracer *tracer = text ? fg_tracer_named(text) : NULL;
    struct fg_instance *instance = tracer ? fg_instance_take(self) : NULL;
    int error;

    if (!instance)
        return NULL;
    error = fg_cpython_set_tracer(instance, tracer);
    fg_instance_put(instance);
    return error == -ENOSPC ? fg_raise_no_slot() : fg_instance_result(error);
}

/* ---- filters */

PyObject *fg_instance_py_set_filter(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"filter", "notrace",      "graph",   "graph_notrace",
                            "tids",   "notrace_tids", "c_calls", NULL};
    PyObject *sets[FGRAPH_NR_FILTER_SETS] = {NULL}, *tids = Py_None, *never = Py_None;
    struct fg_filter filter = {0};
    struct fg_instance *instance;
    int c_calls = 0, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOOOp:set_filter", names, &sets[FGRAPH_FILTER],
                                     &sets[FGRAPH_NOTRACE], &sets[FGRAPH_GRAPH], &sets[FGRAPH_GRAPH_NOTRACE],
                                     &tids, &never, &c_calls))
        return NULL;
    filter.c_calls = c_calls;
    instance = fg_filter_add_sets(&filter, sets) == 0 && fg_filter_set_tids(&filter, tids, never) == 0
                   ? fg_instance_take(self)
                   : NULL;
    error = instance ? fg_cpython_set_filter(instance, &filter) : -1;
    fg_filter_clear(&filter);
    if (!instance)
        return NULL;
    fg_instance_put(instance);
    return fg_instance_result(error);
}

PyObject *fg_instance_py_set_event_tids(PyObject *self, PyObject *args)
{
    struct fg_filter filter = {0};
    PyObject *only, *never;
    int error;

    if (!PyArg_ParseTuple(args, "OO:set_event_tids", &only, &never))
        return NULL;
    if (fg_filter_set_tids(&filter, only, never) != 0)
        return NULL;
    error = fg_event_set_tids(((struct fg_instance_object *)self)->handle, filter.tids);
    if (!error)
        filter.tids = NULL;
    fg_filter_clear(&filter);
    return fg_instance_result(error);
}

/* ---- settings */

static int number_of(PyObject *value, uint64_t most, uint64_t *number)
{
    *number = PyLong_AsUnsignedLongLong(value);
    if (*number == UINT64_MAX && PyErr_Occurred())
        return -1;
    if (*number <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "must be <= %llu, got %S", (unsigned long long)most, value);
    return -1;
}

static int flag_of(PyObject *value, bool *flag)
{
    int is_true = PyObject_IsTrue(value);

    *flag = is_true == 1;
    return is_true < 0 ? -1 : 0;
}

int fg_value_style_of(struct fg_value_style *style, uint32_t values, uint32_t string_size, const char *redact)
{
    if (fg_value_style_init(style, values, string_size, redact) == 0)
        return 0;
    PyErr_Format(PyExc_ValueError,
                 "redact must be words with '|' between them, of at most %d bytes together, got '%s'",
                 FG_REDACT_MAX_BYTES, redact);
    return -1;
}

/* Return: 1: it is none of a value's style. */
static int change_style(struct fg_value_style *style, const char *name, PyObject *value)
{
    uint64_t depth = style->depth, string_size = style->string_size;
    char redact[sizeof(style->redact)];
    const char *words = strcpy(redact, style->redact);
    int error;

    if (strcmp(name, "values") == 0)
        error = number_of(value, FG_VALUE_MAX_DEPTH, &depth);
    else if (strcmp(name, "string_size") == 0)
        error = number_of(value, FG_VALUE_MAX_STRING, &string_size);
    else if (strcmp(name, "redact") == 0)
        error = (words = PyUnicode_AsUTF8(value)) ? 0 : -1;
    else
        return 1;
    return error ? error : fg_value_style_of(style, (uint32_t)depth, (uint32_t)string_size, words);
}

static int change_setting(struct fg_instance_settings *settings, const char *name, PyObject *value)
{
    uint64_t number = 0;
    int error;

    if (strcmp(name, "max_graph_depth") == 0) {
        error = number_of(value, FG_INSTANCE_MAX_DEPTH, &number);

        settings->max_graph_depth = (uint32_t)number;
        return error;
    }
    if (strcmp(name, "thresh_us") == 0)
        return number_of(value, FG_INSTANCE_MAX_THRESH_US, &settings->thresh_us);
#define X(field, option)                                                                                     \
    if (strcmp(name, #field) == 0)                                                                           \
        return flag_of(value, &settings->field);
    FG_INSTANCE_FLAGS(X)
#undef X
    error = change_style(&settings->value_style, name, value);
    if (error <= 0)
        return error;
    PyErr_Format(PyExc_ValueError, "unknown setting '%s'; Instance.settings has all", name);
    return -1;
}

PyObject *fg_instance_py_set_setting(PyObject *self, PyObject *args)
{
    struct fg_instance_settings settings;
    struct fg_instance *instance;
    const char *name;
    PyObject *value;
    int error;

    if (!PyArg_ParseTuple(args, "sO:set_setting", &name, &value))
        return NULL;
    instance = fg_instance_take(self);
    if (!instance)
        return NULL;
    settings = fg_instance_settings(instance);
    error = change_setting(&settings, name, value);
    if (!error)
        error = fg_instance_set_settings(instance, &settings);
    fg_instance_put(instance);
    return fg_instance_result(error);
}

/* Adds an instance's words to a dict, unless it has none, or is gone by now. */
static int add_redact_words(PyObject *words, int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    PyObject *key, *value;
    int error = 0;

    if (!instance)
        return 0;
    if (instance->value_style.redact[0]) {
        key = PyLong_FromLong(handle);
        value = PyUnicode_FromString(instance->value_style.redact);
        error = key && value ? PyDict_SetItem(words, key, value) : -1;
        Py_XDECREF(key);
        Py_XDECREF(value);
    }
    fg_instance_put(instance);
    return error;
}

PyObject *fg_redact_words(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *words = PyDict_New();
    int handle = 0, error = words ? 0 : -1;

    while (!error && (handle = fg_instance_next(handle, fg_interp_known())))
        error = add_redact_words(words, handle);
    if (error)
        Py_CLEAR(words);
    return words;
}

PyObject *fg_instance_py_settings(struct fg_instance *instance)
{
    struct fg_instance_settings settings = fg_instance_settings(instance);

#define FORMAT(name, option) "s:N,"
#define VALUE(name, option) , #name, PyBool_FromLong(settings.name)
    return Py_BuildValue("{" FG_INSTANCE_FLAGS(FORMAT) "s:I,s:K,s:I,s:I,s:s}" FG_INSTANCE_FLAGS(VALUE),
                         "max_graph_depth", settings.max_graph_depth, "thresh_us",
                         (unsigned long long)settings.thresh_us, "values", settings.value_style.depth,
                         "string_size", settings.value_style.string_size, "redact",
                         settings.value_style.redact);
#undef FORMAT
#undef VALUE
}
