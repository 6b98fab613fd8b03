/* See capi_names.h. */
#include "binding/capi/capi_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/read/symbols.h"
#include "arch/cpython/register/users.h"
#include "binding/capi/capi.h"
#include "binding/core/native_patterns.h"
#include "binding/core/state.h"
#include "binding/graph/function.h"
#include "engine/base/array.h"

/* ---- functions by whole name */

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct fg_name *)a)->text, ((const struct fg_name *)b)->text);
}

static struct fg_name *find_name(const struct fg_named *named, const char *text)
{
    struct fg_name key = {.text = text};

    return bsearch(&key, named->names, named->nr_names, sizeof(key), compare_names);
}

static bool is_named(const char *name, const char *Py_UNUSED(module), bool Py_UNUSED(is_c), void *arg)
{
    return find_name(arg, name);
}

/* Its code; a C function lives as long as the interpreter, a native one has none. */
static PyObject *code_of(const struct fg_func *func)
{
    return func->flags & FG_FUNC_NATIVE ? NULL : func->arch_data;
}

static void keep(struct fg_named *named, struct fg_func *func, struct fg_name *name)
{
    if (fg_array_reserve(&named->funcs, &named->capacity, named->n + 1) != 0) {
        named->has_failed = true;
        return;
    }
    Py_XINCREF(code_of(func));
    named->funcs[named->n++] = func;
    name->is_found = true;
}

static void keep_found(struct fg_func *func, void *arg)
{
    keep(arg, func, find_name(arg, func->name));
}

void fg_named_clear(struct fg_named *named)
{
    for (size_t i = 0; i < named->n; i++)
        Py_XDECREF(code_of(named->funcs[i]));
    free(named->funcs);
    free(named->names);
}

static int meet_named(struct fg_interp *interp, struct fg_named *named)
{
    struct fg_name_tails tails = {.last_characters = 0};
    struct fg_symbols_query query = {.kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C,
                                     .wants = is_named,
                                     .found = keep_found,
                                     .arg = named,
                                     .python_names = &tails,
                                     .c_names = &tails};
    int error = 0;

    for (size_t i = 0; i < named->nr_names && !error; i++)
        error = fg_name_tails_add(&tails, named->names[i].text);
    if (!error && (fg_symbols_meet(interp, &query) < 0 || named->has_failed))
        error = -ENOMEM;
    fg_name_tails_clear(&tails);
    return error;
}

/* ---- native functions: "malloc:mod:libc" */

static int keep_listed(struct fg_named *named, PyObject *functions, struct fg_name *name)
{
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(functions); i++) {
        struct fg_func *func = fg_function_record(PyList_GET_ITEM(functions, i));

        if (func)
            keep(named, func, name);
    }
    return named->has_failed ? -ENOMEM : 0;
}

static int find_native(struct fg_named *named, struct fg_name *name)
{
    PyObject *functions = strstr(name->text, ":mod:") ? fg_native_select(name->text) : Py_NewRef(Py_None);
    int error = 0;

    if (!functions)
        return fg_native_errno();
    if (functions != Py_None)
        error = keep_listed(named, functions, name);
    Py_DECREF(functions);
    return error;
}

/* ---- all of them */

int fg_named_find(struct fg_named *named, const char *const names[], size_t n)
{
    struct fg_interp *interp = fg_engine_here();
    int error;

    *named = (struct fg_named){.names = calloc(n, sizeof(struct fg_name)), .nr_names = n};
    if (!interp || !named->names)
        return interp ? -ENOMEM : -EIO;
    for (size_t i = 0; i < n; i++)
        named->names[i].text = names[i];
    qsort(named->names, n, sizeof(struct fg_name), compare_names);
    error = meet_named(interp, named);
    for (size_t i = 0; i < n && !error; i++)
        error = find_native(named, &named->names[i]);
    if (error)
        return error;
    for (size_t i = 0; i < n; i++) {
        if (!find_name(named, named->names[i].text)->is_found)
            return -ENOENT;
    }
    return 0;
}

size_t fg_capi_funcs_named(const char *name, struct fg_func *funcs[], size_t room)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_named named;
    size_t n;

    fg_named_find(&named, &name, 1);
    n = named.n;
    if (n && room)
        memcpy(funcs, named.funcs, (n < room ? n : room) * sizeof(funcs[0]));
    fg_named_clear(&named);
    fg_exception_put_back(aside);
    return n;
}

/* ---- functions by object */

/* The record of a Function of this module, or NULL. */
static struct fg_func *func_of_function(PyObject *object)
{
    PyObject *module = fg_engine_module_of(Py_TYPE(object));

    if (!module || !Py_IS_TYPE(object, fg_engine_state(module)->function_type))
        return NULL;
    return fg_function_record(object);
}

struct fg_func *fg_capi_func_of(PyObject *callable)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_interp *interp = callable ? fg_engine_here() : NULL;
    struct fg_func *func = interp ? func_of_function(callable) : NULL;

    if (interp && !func)
        func = fg_symbols_func_of(interp, callable);
    fg_exception_put_back(aside);
    return func;
}
