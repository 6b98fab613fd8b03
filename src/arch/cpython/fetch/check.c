/* See check.h. An object that cannot be made proves nothing: memory is short. */
#include "arch/cpython/fetch/check.h"

#include <stdatomic.h>
#include <string.h>

#include "arch/cpython/base/assumptions.h"
#include "arch/cpython/base/compat/instance.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/fetch/item.h"

#if FG_HAVE_BORROWED_READS

#define SAME(read, expected) fg_assumption_holds(FG_ASSUME_OBJECTS, (uintptr_t)(read), (uintptr_t)(expected))

static bool has_value(PyObject *dict, PyObject *key)
{
    struct fg_dict_key known = {key, PyObject_Hash(key)};
    int32_t entry = -1;
    PyObject *value;

    fg_dict_peek(dict, &known, &entry, &value);
    return SAME(value, PyDict_GetItem(dict, key));
}

/* A table whose keys are all str, and then one of all sorts. */
static bool check_dict(void)
{
    PyObject *dict = Py_BuildValue("{s:s,s:s}", "a", "of a", "b", "of b");
    PyObject *text = PyUnicode_FromString("b"), *number = PyLong_FromLong(1234567);
    bool holds = true;

    if (dict && text && number) {
        holds = has_value(dict, text) && has_value(dict, number);
        if (PyDict_SetItem(dict, number, text) == 0)
            holds = holds && has_value(dict, text) && has_value(dict, number);
    }
    Py_XDECREF(dict);
    Py_XDECREF(text);
    Py_XDECREF(number);
    return holds;
}

static bool has_attribute(PyObject *instance, PyObject *name)
{
    struct fg_dict_key known = {name, PyObject_Hash(name)};
    PyObject *value, *expected = PyObject_GenericGetAttr(instance, name);
    int32_t entry = -1;
    bool holds;

    fg_instance_peek(instance, &known, &entry, &value);
    holds = !expected || SAME(value, expected);
    Py_XDECREF(expected);
    return holds;
}

/* An instance of a class in Python that every process has: sys.__spec__. */
static bool check_instance(void)
{
    PyObject *spec = PySys_GetObject("__spec__"); /* borrowed */
    PyObject *name = PyUnicode_InternFromString("name");
    bool holds = true;

    if (spec && name && Py_TYPE(spec)->tp_getattro == PyObject_GenericGetAttr &&
        !fg_type_has(Py_TYPE(spec), name))
        holds = has_attribute(spec, name);
    Py_XDECREF(name);
    return holds;
}

/* Steals the reference; its items are ints. */
static bool has_item(PyObject *sequence, Py_ssize_t n)
{
    struct fg_fetch_operand getitem = {.key = NULL};
    PyObject *expected = sequence ? PySequence_GetItem(sequence, n) : NULL;
    struct fg_fetched item =
        expected ? fg_fetch_nth(fg_fetched_object(sequence), n, &getitem) : fg_fetched_fault();
    bool holds = true;

    if (expected && item.kind == FG_FETCHED_OBJECT)
        holds = SAME(item.object, expected);
    else if (expected)
        holds = item.kind == FG_FETCHED_SIGNED && SAME(item.number, PyLong_AsLong(expected));
    Py_XDECREF(expected);
    Py_XDECREF(sequence);
    return holds;
}

static PyObject *new_range(void)
{
    return PyObject_CallFunction((PyObject *)&PyRange_Type, "iii", 5, 500, 3);
}

/* Of two blocks. New reference, or NULL: its module is not imported, so there is no deque. */
static PyObject *new_deque(void)
{
    static const char module_name[] = "_collections";
    PyObject *module = fg_imported(module_name, strlen(module_name));
    PyObject *type = module ? fg_dict_get(PyModule_GetDict(module), "deque") : NULL;
    PyObject *items = type ? new_range() : NULL;
    bool is_ours =
        type && PyType_Check(type) && (((PyTypeObject *)type)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE);
    PyObject *deque = items && is_ours ? PyObject_CallOneArg(type, items) : NULL;

    Py_XDECREF(items);
    Py_XDECREF(type);
    Py_XDECREF(module);
    return deque;
}

static bool check_all(void)
{
    return check_dict() && check_instance() && has_item(new_range(), 7) && has_item(new_deque(), 2) &&
           has_item(new_deque(), 150);
}

int fg_fetch_check(void)
{
    static _Atomic bool are_known_to_hold;
    bool holds;

    if (atomic_load(&are_known_to_hold))
        return 0;
    holds = check_all();
    PyErr_Clear();
    atomic_store(&are_known_to_hold, holds);
    return holds ? 0 : fg_assumption_refuse(FG_ASSUME_OBJECTS);
}

#else

/* Only immutable objects are read, by their public structures. */
int fg_fetch_check(void)
{
    return 0;
}

#endif
