/* See call_hook.h. */
#define _GNU_SOURCE
#include "arch/cpython/latency/call_hook.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"

#if FG_HAVE_CALL_HOOKS

/* The class named between @dot and @end, in the module named before @dot. New reference, or NULL. */
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
    if (method && !fg_is_function(method))
        Py_CLEAR(method);
    return method;
}

/* The function object of "module.Class.method". New reference, or NULL; no exception is left set. */
static PyObject *find(const char *name)
{
    const char *last = strrchr(name, '.'), *dot = memrchr(name, '.', (size_t)(last - name));
    PyObject *type = class_of(name, dot, last);
    PyObject *method = type ? method_of(type, last + 1) : NULL;

    Py_XDECREF(type);
    PyErr_Clear();
    return method;
}

/* ---- replacing a function's vectorcall, including at call sites that CPython has specialized already */

#if FG_HAVE_MONITORING

static bool can_be_set(void)
{
    return true;
}

static void set_vectorcall(PyFunctionObject *function, vectorcallfunc vectorcall)
{
    PyFunction_SetVectorcall(function, vectorcall);
}

#else

/* pickle and copy treat an object as a function only if its type is exactly `function`. If
 * __reduce_ex__ returns a str, they save the object by that name, as they save functions. */
static PyObject *reduce_ex(PyObject *function, PyObject *Py_UNUSED(protocol))
{
    return Py_NewRef(((PyFunctionObject *)function)->func_qualname);
}

static PyMethodDef hooked_function_methods[] = {
    {"__reduce_ex__", reduce_ex, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* CPython 3.11 enters an object of exactly the type `function` directly and ignores its vectorcall
 * (CALL in ceval.c). So a hooked function has the type below while it is hooked. In all other respects
 * that type behaves like `function`. */
static PyTypeObject hooked_function_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "function",
    .tp_basicsize = sizeof(PyFunctionObject),
    .tp_base = &PyFunction_Type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(PyFunctionObject, vectorcall),
    .tp_methods = hooked_function_methods,
};

/* No exception is left set. */
static bool can_be_set(void)
{
    bool is_ready = PyType_Ready(&hooked_function_type) == 0;

    PyErr_Clear();
    return is_ready;
}

static void set_vectorcall(PyFunctionObject *function, vectorcallfunc vectorcall)
{
    function->vectorcall = vectorcall;
    Py_SET_TYPE(function, vectorcall == _PyFunction_Vectorcall ? &PyFunction_Type : &hooked_function_type);
}

#endif

/* ---- the installed hooks; the lock guards them, because interpreters with their own GIL share the list */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct fg_call_hook *installed;

/* Call with `lock` held. */
static void list_remove(const struct fg_call_hook *hook)
{
    struct fg_call_hook **at = &installed;

    while (*at != hook)
        at = &(*at)->next;
    *at = hook->next;
}

/* The hook whose `original` is @hook; NULL: no hook of ours. Call with `lock` held. */
static struct fg_call_hook *hook_over(const struct fg_call_hook *hook, const PyFunctionObject *function)
{
    struct fg_call_hook *over = installed;

    while (over && (over->function != (PyObject *)function || over->original != hook->around))
        over = over->next;
    return over;
}

static void put_on(struct fg_call_hook *hook, PyFunctionObject *function)
{
    pthread_mutex_lock(&lock);
    hook->function = (PyObject *)function;
    hook->original = function->vectorcall;
    hook->generation++;
    hook->next = installed;
    installed = hook;
    set_vectorcall(function, hook->around);
    pthread_mutex_unlock(&lock);
}

static void take_off(struct fg_call_hook *hook, PyFunctionObject *function)
{
    struct fg_call_hook *over;

    pthread_mutex_lock(&lock);
    list_remove(hook);
    over = hook_over(hook, function);
    if (function->vectorcall == hook->around)
        set_vectorcall(function, hook->original);
    else if (over)
        over->original = hook->original;
    else
        hook->is_buried = true;
    pthread_mutex_unlock(&lock);
}

bool fg_call_hook_install(struct fg_call_hook *hook, const char *name)
{
    fg_exception aside = fg_exception_set_aside();
    PyFunctionObject *function = hook->is_buried || !can_be_set() ? NULL : (PyFunctionObject *)find(name);

    fg_exception_put_back(aside);
    if (!function)
        return false;
    put_on(hook, function);
    return true;
}

void fg_call_hook_remove(struct fg_call_hook *hook)
{
    PyFunctionObject *function = (PyFunctionObject *)hook->function;

    if (!function)
        return;
    hook->function = NULL;
    take_off(hook, function);
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
