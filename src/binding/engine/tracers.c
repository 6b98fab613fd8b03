/* See tracers.h. */
#include "binding/engine/tracers.h"

#include <string.h>

#include "binding/base/sequences.h"
#include "engine/tracer/instance.h"

/* "function_graph, function, nop" */
static PyObject *tracer_names(void)
{
    PyObject *names = PyUnicode_FromString("");

    for (unsigned i = 0; names && fg_tracer_at(i); i++)
        Py_SETREF(names, PyUnicode_FromFormat(i ? "%U, %s" : "%U%s", names, fg_tracer_at(i)->name));
    return names;
}

const struct fg_tracer *fg_tracer_named(const char *name)
{
    const struct fg_tracer *tracer = fg_tracer_find(name);
    PyObject *names = tracer ? NULL : tracer_names();

    if (names)
        PyErr_Format(PyExc_ValueError, "tracer must be one of %U, got '%s'", names, name);
    Py_XDECREF(names);
    return tracer;
}

/* Adds {"sleep-time": ("no_sleep_time", False)} and the like: the options of one setting, which are
 * separated by blanks. */
static int add_flag_options(PyObject *flags, const char *setting, const char *options)
{
    size_t length;

    for (const char *at = options; *at; at += length + (at[length] == ' ')) {
        bool is_off = strncmp(at, "no", 2) == 0;
        PyObject *option, *value = Py_BuildValue("(sN)", setting, PyBool_FromLong(!is_off));
        int error;

        length = strcspn(at, " ");
        option = PyUnicode_FromStringAndSize(at + 2 * is_off, (Py_ssize_t)(length - 2 * is_off));
        error = option && value ? PyDict_SetItem(flags, option, value) : -1;
        Py_XDECREF(option);
        Py_XDECREF(value);
        if (error)
            return -1;
    }
    return 0;
}

static PyObject *instance_flags(void)
{
    PyObject *flags = PyDict_New();

#define X(name, options)                                                                                     \
    if (flags && add_flag_options(flags, #name, options) != 0)                                               \
        Py_CLEAR(flags);
    FG_INSTANCE_FLAGS(X)
#undef X
    return flags;
}

/* A dict of settings that are numbers: name to (least, greatest value). */
static PyObject *instance_limits(void)
{
    PyObject *limits = PyDict_New();

#define X(name, least, most)                                                                                 \
    if (limits) {                                                                                            \
        PyObject *pair = Py_BuildValue("(LL)", (long long)(least), (long long)(most));                       \
                                                                                                             \
        if (!pair || PyDict_SetItemString(limits, #name, pair) != 0)                                         \
            Py_CLEAR(limits);                                                                                \
        Py_XDECREF(pair);                                                                                    \
    }
    FG_INSTANCE_LIMITS(X)
#undef X
    return limits;
}

/* Steals the reference to `object`, which may be NULL with an exception set. */
static int add_object(PyObject *module, const char *attribute, PyObject *object)
{
    int error = object ? PyModule_AddObjectRef(module, attribute, object) : -1;

    Py_XDECREF(object);
    return error;
}

int fg_tracers_add(PyObject *module)
{
    const char *names[FG_MAX_TRACERS];
    size_t n = 0;

    for (const struct fg_tracer *tracer; (tracer = fg_tracer_at((unsigned)n)); n++)
        names[n] = tracer->name;
    return fg_add_names(module, "TRACERS", names, n) ||
                   add_object(module, "INSTANCE_FLAGS", instance_flags()) ||
                   add_object(module, "INSTANCE_LIMITS", instance_limits()) ||
                   PyModule_AddIntConstant(module, "INSTANCE_NAME_BYTES", FG_INSTANCE_NAME_BYTES - 1)
               ? -1
               : 0;
}
