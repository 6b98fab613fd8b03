/* See sequences.h. */
#include "binding/base/sequences.h"

#include <string.h>

#include "binding/base/raise.h"

PyObject *fg_tuple_of(PyObject *sequence, const char *what, int (*check)(PyObject *item, const char *what))
{
    PyObject *tuple;

    if (PyUnicode_Check(sequence))
        return PyErr_Format(PyExc_TypeError, "%s must be a sequence, not one str; use [%R]", what, sequence);
    tuple = PySequence_Tuple(sequence);
    if (!tuple && PyErr_ExceptionMatches(PyExc_TypeError))
        fg_raise_type(what, "a sequence", sequence);
    for (Py_ssize_t i = 0; check && tuple && i < PyTuple_GET_SIZE(tuple); i++) {
        if (check(PyTuple_GET_ITEM(tuple, i), what) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

int fg_list_append(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) != 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
    return *list ? 0 : -1;
}

/* A tuple of `n` items, each made by `make` from element i of `array`. */
static PyObject *make_tuple(const void *array, size_t n, PyObject *(*make)(const void *array, size_t i))
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *item = make(array, i);

        if (item)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, item);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *make_name(const void *array, size_t i)
{
    return PyUnicode_FromString(((const char *const *)array)[i]);
}

static PyObject *make_int(const void *array, size_t i)
{
    return PyLong_FromLong(((const int *)array)[i]);
}

PyObject *fg_name_tuple(const char *const names[], size_t n)
{
    return make_tuple(names, n, make_name);
}

PyObject *fg_int_tuple(const int numbers[], size_t n)
{
    return make_tuple(numbers, n, make_int);
}

int fg_add_names(PyObject *module, const char *attribute, const char *const names[], size_t n)
{
    PyObject *tuple = fg_name_tuple(names, n);
    int error = tuple ? PyModule_AddObjectRef(module, attribute, tuple) : -1;

    Py_XDECREF(tuple);
    return error;
}

int fg_name_index(const char *const names[], size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0)
            return (int)i;
    }
    return -1;
}
