/* See native_patterns.h. */
#include "binding/core/native_patterns.h"

#include <errno.h>

#include "binding/base/sequences.h"

/* Whose the patterns of users in C are (hooking.hook()). They stay as long as the process. */
static const char owner[] = "users in C";

/* Calls a function of the module with a list, whose reference is stolen; NULL: an exception is set. */
static PyObject *call(const char *function, bool takes_owner, PyObject *list)
{
    PyObject *module = list ? PyImport_ImportModule("funcgraph.native.hooking") : NULL;
    PyObject *result = NULL;

    if (module && takes_owner)
        result = PyObject_CallMethod(module, function, "sO", owner, list);
    else if (module)
        result = PyObject_CallMethod(module, function, "(O)", list);

    Py_XDECREF(module);
    Py_XDECREF(list);
    return result;
}

/* Those with ":mod:" alone select native functions. */
static PyObject *of_modules(const struct fg_patterns *patterns)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < patterns->n; i++) {
        const struct fg_pattern *pattern = &patterns->items[i];

        if (pattern->module && !pattern->excludes_module)
            fg_list_append(&list, PyUnicode_FromString(pattern->text));
    }
    return list;
}

static bool has_modules(const struct fg_patterns *patterns)
{
    for (size_t i = 0; i < patterns->n; i++) {
        if (patterns->items[i].module)
            return true;
    }
    return false;
}

static int call_with(const char *function, bool takes_owner, const struct fg_patterns *patterns)
{
    PyObject *result;

    if (!has_modules(patterns))
        return 0;
    result = call(function, takes_owner, of_modules(patterns));
    Py_XDECREF(result);
    return result ? 0 : -1;
}

int fg_native_refuse(const struct fg_patterns *patterns)
{
    return call_with("refuse", false, patterns);
}

int fg_native_hook(const struct fg_patterns *patterns)
{
    return call_with("hook_all", true, patterns);
}

PyObject *fg_native_select(const char *pattern)
{
    return call("select", true, Py_BuildValue("[s]", pattern));
}

int fg_native_errno(void)
{
    int error = PyErr_ExceptionMatches(PyExc_OSError)       ? -EOPNOTSUPP
                : PyErr_ExceptionMatches(PyExc_MemoryError) ? -ENOMEM
                                                            : -EIO;

    PyErr_Clear();
    return error;
}
