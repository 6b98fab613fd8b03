/* See event_names.h. */
#define _GNU_SOURCE
#include "binding/event/event_names.h"

#include <stdlib.h>
#include <string.h>

#include "arch/cpython/register/static_events.h"

struct named {
    uint32_t id;
    char *name; /* NULL: not found */
};

/* The engine's lock is held: no object is made here. */
static void note_name(struct fg_func *func, void *arg)
{
    struct named *named = arg;

    if (func->id == named->id && !named->name)
        named->name = strdup(func->name);
}

static PyObject *function_name(PyObject *Py_UNUSED(module), PyObject *id)
{
    struct named named = {.id = (uint32_t)PyLong_AsUnsignedLongMask(id)};
    PyObject *name;

    if (PyErr_Occurred())
        return NULL;
    fg_func_for_each(note_name, &named);
    if (!named.name)
        Py_RETURN_NONE;
    name = PyUnicode_DecodeUTF8(named.name, (Py_ssize_t)strlen(named.name), "replace");
    free(named.name);
    return name;
}

static PyObject *static_events(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *all = PyList_New(0);
    const struct fg_static_event_names *names;

    for (uint32_t i = 0; all && (names = fg_static_names(i)); i++) {
        PyObject *one = Py_BuildValue("(sssN)", names->system, names->name, names->values,
                                      PyBool_FromLong(i >= FG_NR_STATIC_EVENTS));

        if (!one || PyList_Append(all, one) != 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

PyMethodDef fg_event_functions[] = {
    {"static_events", static_events, METH_NOARGS,
     "static_events() -> list[tuple[str, str, str, bool]]: system, name and values of each static event; "
     "whether "
     "the program has declared it."},
    {"function_name", function_name, METH_O, "function_name(id) -> str | None: the function with this id."},
    {NULL, NULL, 0, NULL},
};
