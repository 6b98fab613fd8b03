/* See call_hook.h. */
#define _GNU_SOURCE
#include "call_hook.h"

#include <string.h>

#ifndef Py_GIL_DISABLED

/* The class in its module, if it is one. New reference, or NULL. */
static PyObject *class_of(const char *name, const char *dot, const char *end)
{
    PyObject *module = fg_imported(name, (size_t)(dot - name));
    PyObject *key = module ? PyUnicode_FromStringAndSize(dot + 1, end - dot - 1) : NULL;
    PyObject *type = key ? fg_dict_get_item(PyModule_GetDict(module), key) : NULL;

    Py_XDECREF(module);
    Py_XDECREF(key);
    if (type && !PyType_Check(type))
        Py_CLEAR(type);
    return type;
}

static PyObject *method_of(PyObject *type, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *method = key ? fg_type_lookup((PyTypeObject *)type, key) : NULL;

    Py_XDECREF(key);
    if (method && !PyFunction_Check(method))
        Py_CLEAR(method);
    return method;
}

/* New reference, or NULL; no exception is left set. */
static PyObject *find(const char *name)
{
    const char *last = strrchr(name, '.'), *dot = memrchr(name, '.', (size_t)(last - name));
    PyObject *type = class_of(name, dot, last);
    PyObject *method = type ? method_of(type, last + 1) : NULL;

    Py_XDECREF(type);
    PyErr_Clear();
    return method;
}

bool fg_call_hook_install(struct fg_call_hook *hook, const char *name)
{
    fg_exception aside = fg_exception_set_aside();
    PyFunctionObject *function = hook->is_buried ? NULL : (PyFunctionObject *)find(name);

    fg_exception_put_back(aside);
    if (!function)
        return false;
    hook->function = (PyObject *)function;
    hook->original = function->vectorcall;
    hook->generation++;
    fg_function_set_vectorcall(function, hook->around);
    return true;
}

void fg_call_hook_remove(struct fg_call_hook *hook)
{
    PyFunctionObject *function = (PyFunctionObject *)hook->function;

    if (!function)
        return;
    hook->function = NULL;
    if (function->vectorcall == hook->around)
        fg_function_set_vectorcall(function, hook->original);
    else
        hook->is_buried = true;
    Py_DECREF(function);
}

#else

bool fg_call_hook_install(struct fg_call_hook *hook, const char *name)
{
    (void)hook, (void)name;
    return false;
}

void fg_call_hook_remove(struct fg_call_hook *hook)
{
    (void)hook;
}

#endif
