/* See silent_call.h. */
#include "arch/cpython/backend/silent_call.h"

#include <string.h>

#include "arch/cpython/read/brief.h"
#include "arch/cpython/read/cfunction.h"

#define MOST_NAMES 256 /* of each kind that are looked at */

/* The characters of an exact ASCII str; NULL: it is another object. */
static const char *text_of(PyObject *name)
{
    return name && PyUnicode_CheckExact(name) && PyUnicode_IS_COMPACT_ASCII(name)
               ? (const char *)PyUnicode_1BYTE_DATA(name)
               : NULL;
}

static const char *type_name(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');

    return dot ? dot + 1 : type->tp_name;
}

/* The name that the callable was defined with; NULL: it has none, or may be anything. */
static const char *name_of(PyObject *callable, const struct fg_func *func)
{
    if (func)
        return func->flags & FG_FUNC_BRIEF ? fg_cfunction_definition(callable)->ml_name : NULL;
    if (Py_IS_TYPE(callable, &PyMethod_Type))
        callable = PyMethod_GET_FUNCTION(callable);
    if (PyFunction_Check(callable))
        return text_of(((PyFunctionObject *)callable)->func_name);
    return PyType_Check(callable) ? type_name((PyTypeObject *)callable) : NULL;
}

static bool has_name(PyObject *names, const char *name)
{
    Py_ssize_t n = PyTuple_GET_SIZE(names);

    for (Py_ssize_t i = 0; i < n && i < MOST_NAMES; i++) {
        const char *text = text_of(PyTuple_GET_ITEM(names, i));

        if (text && *text == *name && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

/* The names of globals and attributes, then those of variables. */
static bool uses_name(const PyCodeObject *code, const char *name)
{
    return has_name(code->co_names, name) || has_name(code->co_localsplusnames, name);
}

bool fg_call_stays_silent(PyCodeObject *code, PyObject *callable, const struct fg_func *func)
{
    const char *name = name_of(callable, func);

    return name && uses_name(code, name) && !fg_may_wait(name);
}
