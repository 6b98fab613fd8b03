/* Making function records of code objects, and forgetting them when their code objects are freed. */
#define _GNU_SOURCE
#include "arch/cpython/read/code.h"

#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/code.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/compat/monitoring.h"
#include "arch/cpython/base/compat/reference.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/discovery.h"
#include "engine/graph/user_list.h"
#include "engine/ring/ring_layout.h"
#include "engine/users/meet.h"

Py_ssize_t fg_code_extra_index = -1;
static _Atomic Py_ssize_t first_index = -1; /* atomic: two interpreters may be the first */

static bool try_ref(void *code)
{
    return fg_object_try_ref(code);
}

PyCodeObject *fg_code_of(struct fg_func *func)
{
    PyCodeObject *code = func->arch_data;

    return !(func->flags & (FG_FUNC_C | FG_FUNC_NATIVE)) && fg_func_if_live(func, try_ref) ? code : NULL;
}

/* Called when the code object is freed. */
static void code_gone(void *extra)
{
    if (!extra)
        return;
    fg_discovery_ops->forget_func(extra);
    fg_func_forget(extra);
}

/* Each interpreter numbers its slots separately, and ours must have the same number in all. Lower slots
 * that are free in this interpreter are wasted. */
static Py_ssize_t request_index(Py_ssize_t least)
{
    Py_ssize_t index;

    do
        index = PyUnstable_Eval_RequestCodeExtraIndex(code_gone);
    while (index >= 0 && index < least);
    return index;
}

int fg_code_init(void)
{
    Py_ssize_t none = -1, least = atomic_load(&first_index), index = request_index(least);

    if (index < 0) {
        PyErr_SetString(PyExc_RuntimeError, "no code extra slot is free in this interpreter");
        return -1;
    }
    if (!atomic_compare_exchange_strong(&first_index, &none, index) && none != index) {
        PyErr_Format(
            PyExc_RuntimeError,
            "code extra slot %zd, which funcgraph has in another interpreter, is not free in this one", none);
        return -1;
    }
    fg_code_extra_index = index;
    return 0;
}

static uint16_t flags_of(const PyCodeObject *code)
{
    uint16_t flags = 0;

    if (code->co_flags & CO_GENERATOR)
        flags |= FG_FUNC_GENERATOR;
    if (code->co_flags & (CO_COROUTINE | CO_ITERABLE_COROUTINE))
        flags |= FG_FUNC_COROUTINE;
    if (code->co_flags & CO_ASYNC_GENERATOR)
        flags |= FG_FUNC_ASYNC_GENERATOR;
    if (code->co_flags & CO_VARARGS)
        flags |= FG_FUNC_VARARGS;
    if (code->co_flags & CO_VARKEYWORDS)
        flags |= FG_FUNC_VARKEYWORDS;
    return flags;
}

/* The function to which each import of a module that is not loaded yet comes, of any loader. */
static bool is_import(const struct fg_func_desc *desc)
{
    return strcmp(desc->qualname, "_find_and_load") == 0 &&
           strcmp(desc->file, "<frozen importlib._bootstrap>") == 0;
}

/* UTF-8 of a str, or `otherwise` if it has none: a lone surrogate has no UTF-8. */
static const char *text_of(PyObject *str, const char *otherwise)
{
    const char *text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : NULL;

    if (!text)
        PyErr_Clear();
    return text ? text : otherwise;
}

static const char *argument_name(const PyCodeObject *code, int i)
{
    return text_of(PyTuple_GET_ITEM(code->co_localsplusnames, i), "?");
}

/* "a,b,args,kw": the names of the arguments in the order of their values in the frame. No Python objects
 * are made: on 3.11 a tuple could start the garbage collector, which runs code of the program. Return: to
 * be freed; NULL: memory is short. */
static char *argument_names(const PyCodeObject *code)
{
    int n = fg_code_argument_count(code);
    size_t bytes = 1;
    char *names, *at;

    for (int i = 0; i < n; i++)
        bytes += strlen(argument_name(code, i)) + 1;
    names = at = malloc(bytes);
    if (!names)
        return NULL;
    *at = 0;
    for (int i = 0; i < n; i++) {
        if (i)
            *at++ = ',';
        at = stpcpy(at, argument_name(code, i));
    }
    return names;
}

PyObject *fg_code_module(PyObject *globals)
{
    PyObject *name = globals && PyDict_CheckExact(globals) ? fg_dict_get(globals, "__name__") : NULL;

    if (name && !PyUnicode_CheckExact(name))
        Py_CLEAR(name);
    return name;
}

struct fg_code_name fg_code_name(const PyCodeObject *code, PyObject *module)
{
    return (struct fg_code_name){text_of(module, "?"), text_of(code->co_qualname, "?")};
}

/* Sets the hooks before it publishes the record, so that a thread that finds the record finds its hooks
 * set. */
static struct fg_func *make_record(PyCodeObject *code, const struct fg_func_desc *desc)
{
    struct fg_func *func;

    fg_object_share((PyObject *)code);
    func = fg_func_meet(desc);
    if (!func)
        return NULL;
    if (fg_func_has_users(func) || !FG_CAN_DISABLE)
        fg_discovery_ops->meet_func(func);
    fg_discovery_ops->meet_code(code, func);
    if (fg_code_set_extra(code, fg_code_extra_index, func) != 0) {
        code_gone(func);
        return NULL;
    }
    return func;
}

struct fg_func *fg_code_meet(PyCodeObject *code, PyObject *module)
{
    char *args = argument_names(code);
    struct fg_code_name name = fg_code_name(code, module);
    struct fg_func_desc desc = {
        .module = name.module,
        .qualname = name.qualname,
        .file = text_of(code->co_filename, "?"),
        .args = args ? args : "",
        .line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0,
        .flags = flags_of(code),
        .arch_data = code,
        .domain = &fg_interp_known()->domain,
    };
    struct fg_func *func;

    if (is_import(&desc))
        desc.flags |= FG_FUNC_IMPORTS;
    fg_discovery_ops->meet_module(desc.module);
    fg_lock(FG_LOCK_DISCOVERY);
    /* Another thread may have made the record meanwhile, or a finalizer that ran just now. */
    func = fg_code_func(code);
    if (!func)
        func = make_record(code, &desc);
    fg_unlock(FG_LOCK_DISCOVERY);
    free(args);
    return func;
}

struct fg_func *fg_code_discover(fg_pyframe *frame)
{
    /* When an exception is thrown into a generator, its first hook runs with the exception set. */
    fg_exception aside = fg_exception_set_aside();
    PyObject *module = fg_code_module(frame->f_globals);
    struct fg_func *func = fg_code_meet(fg_pyframe_code(frame), module);

    Py_XDECREF(module);
    fg_exception_put_back(aside);
    return func;
}
