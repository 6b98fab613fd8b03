/* See native.h. funcgraph.native decides which objects are asked for, and has their plans made. */
#include "binding/native/native.h"

#include <errno.h>

#include "binding/native/run.h"

#ifdef FG_HAVE_NATIVE
#include "arch/cpython/register/users.h"
#include "arch/native/hook.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/filter.h"

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

PyMethodDef fg_native_functions[] = {
    {"native_meet", meet, METH_VARARGS,
     "native_meet(plan, name, patterns) -> int: make records of a loaded object's functions; return how many "
     "match."},
    {"native_functions", functions, METH_NOARGS,
     "native_functions() -> list: object, name, is it hooked, and else why not, of each native function with "
     "a "
     "record."},
    FG_RUN_ROW,
    {NULL, NULL, 0, NULL},
};

#else

PyMethodDef fg_native_functions[] = {
    FG_RUN_ROW,
    {NULL, NULL, 0, NULL},
};
#endif
