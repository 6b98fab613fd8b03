/* See native.h. funcgraph.native decides which objects are asked for, and has their plans made. */
#include "binding/native/native.h"

#include <errno.h>
#include <stdlib.h>

#include "binding/native/run.h"

#ifdef FG_HAVE_NATIVE
#include "arch/cpython/register/users.h"
#include "arch/native/hook.h"
#include "arch/native/machine.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/graph/function.h"
#include "engine/base/array.h"
#include "engine/core/self.h"

static PyObject *refused(const struct fg_native_refusal *refusal)
{
    return fg_raise_os_error(EOPNOTSUPP, PyUnicode_FromString(refusal->text));
}

/* Steals nothing. Return: NULL with an exception. */
static struct fg_native_object *open_object(const char *plan, const char *name)
{
    struct fg_native_refusal refusal = {""};
    struct fg_native_object *object = NULL;

    /* calls that this library makes are not the program's */
    if (fg_native_start((const void *)(uintptr_t)refused, &refusal))
        object = fg_native_open(plan, name, &refusal);
    if (!object)
        refused(&refusal);
    return object;
}

static PyObject *meet(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_filter filter = {.c_calls = false};
    struct fg_native_object *object;
    PyObject *plan, *patterns;
    const char *name;
    long n = 0;

    if (!PyArg_ParseTuple(args, "O&sO:native_meet", PyUnicode_FSConverter, &plan, &name, &patterns))
        return NULL;
    object = fg_engine_here() ? open_object(PyBytes_AS_STRING(plan), name) : NULL;
    Py_DECREF(plan);
    if (object && fg_filter_add_sequence(&filter, FGRAPH_FILTER, patterns, "patterns") == 0)
        n = fg_native_meet(object, &filter.sets[FGRAPH_FILTER]);
    fg_filter_clear(&filter);
    if (PyErr_Occurred())
        return NULL;
    return n < 0 ? fg_raise_errno((int)n, NULL) : PyLong_FromLong(n);
}

static void add_state(const struct fg_native_state *state, void *arg)
{
    PyObject **list = arg;

    if (*list)
        fg_list_append(list, Py_BuildValue("(ssOz)", state->object, state->name,
                                           state->is_hooked ? Py_True : Py_False, state->refusal));
}

static PyObject *functions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);

    fg_native_for_each(add_state, &list);
    return list;
}

/* The records, which stay for good, of the functions that patterns select. */
struct selection {
    const struct fg_patterns *patterns;
    struct fg_func **funcs;
    size_t n, capacity;
    int error;
};

static void select_function(const struct fg_native_state *state, void *arg)
{
    struct selection *selection = arg;

    if (selection->error || (state->func->flags & FG_FUNC_PLACE) ||
        !fg_patterns_match_native(selection->patterns, state->name, state->object))
        return;
    selection->error = fg_array_reserve(&selection->funcs, &selection->capacity, selection->n + 1);
    if (!selection->error)
        selection->funcs[selection->n++] = state->func;
}

static PyObject *list_of(PyObject *module, const struct selection *selection)
{
    PyObject *list = selection->error ? PyErr_NoMemory() : PyList_New(0);

    for (size_t i = 0; list && i < selection->n; i++)
        fg_list_append(&list, fg_function_of(fg_engine_state(module), selection->funcs[i]));
    return list;
}

/* Objects are made without the lock of hooks. */
static PyObject *matching(PyObject *module, PyObject *patterns)
{
    struct fg_filter filter = {.c_calls = false};
    struct selection selection = {.patterns = &filter.sets[FGRAPH_FILTER]};
    PyObject *list = NULL;

    if (fg_filter_add_sequence(&filter, FGRAPH_FILTER, patterns, "patterns") == 0) {
        fg_native_for_each(select_function, &selection);
        list = list_of(module, &selection);
    }
    fg_filter_clear(&filter);
    free(selection.funcs);
    return list;
}

static PyObject *registers(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);

    for (const char *const *name = fg_machine_register_names; list && *name; name++)
        fg_list_append(&list, PyUnicode_FromString(*name));
    return list ? Py_BuildValue("(NI)", list, fg_machine_place_registers) : NULL;
}

static PyObject *hide_thread(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    fg_native_hide();
    Py_RETURN_NONE;
}

PyMethodDef fg_native_functions[] = {
    {"native_hide_thread", hide_thread, METH_NOARGS,
     "native_hide_thread(): native calls of this thread are never traced from now on."},
    {"native_meet", meet, METH_VARARGS,
     "native_meet(plan, name, patterns) -> int: make records of a loaded object's functions; return how many "
     "match."},
    {"native_matching", matching, METH_O,
     "native_matching(patterns) -> list[Function]: the native functions with a record that patterns select."},
    {"native_functions", functions, METH_NOARGS,
     "native_functions() -> list: object, name, is it hooked, and else why not, of each native function with "
     "a "
     "record."},
    {"native_registers", registers, METH_NOARGS,
     "native_registers() -> tuple: the names of the registers that events can have, by number; how many of "
     "the "
     "last are there at places alone."},
    FG_RUN_ROW,
    {NULL, NULL, 0, NULL},
};

#else

PyMethodDef fg_native_functions[] = {
    FG_RUN_ROW,
    {NULL, NULL, 0, NULL},
};
#endif
