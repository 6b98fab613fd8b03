/* See filter.h. */
#include "binding/core/filter.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "engine/graph/filter.h"

const char *const fg_filter_set_names[FGRAPH_NR_FILTER_SETS] = {
    [FGRAPH_FILTER] = "filter",
    [FGRAPH_NOTRACE] = "notrace",
    [FGRAPH_GRAPH] = "graph",
    [FGRAPH_GRAPH_NOTRACE] = "graph_notrace",
};

/* ---- from Python */

static int check_pattern(PyObject *item, const char *what)
{
    if (PyUnicode_Check(item))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: a pattern must be str, not %.100s", what, Py_TYPE(item)->tp_name);
    return -1;
}

static int check_tid(PyObject *item, const char *what)
{
    long tid = PyLong_Check(item) ? PyLong_AsLong(item) : -1;

    if (tid > 0 && tid <= INT_MAX)
        return 0;
    if (PyLong_Check(item))
        PyErr_Format(PyExc_ValueError, "%s: a native thread id must be in 1 to %d, got %S", what, INT_MAX,
                     item);
    else
        PyErr_Format(PyExc_TypeError, "%s: a native thread id must be int, not %.100s", what,
                     Py_TYPE(item)->tp_name);
    return -1;
}

PyObject *fg_pattern_tuple(PyObject *sequence, const char *what)
{
    return fg_tuple_of(sequence, what, check_pattern);
}

PyObject *fg_tid_tuple(PyObject *tids)
{
    return tids == Py_None ? Py_NewRef(tids) : fg_tuple_of(tids, "tids", check_tid);
}

/* ---- into the engine's filter */

PyObject *fg_raise_pattern(const struct fg_pattern_error *error)
{
    return PyErr_Format(PyExc_ValueError, "pattern '%s', column %zu: %s", error->text, error->column + 1,
                        error->reason);
}

static int add_pattern(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *pattern)
{
    const char *const text[] = {PyUnicode_AsUTF8(pattern)};
    struct fg_pattern_error error;
    int failure = text[0] ? fg_filter_add(filter, set, text, 1, &error) : 0;

    if (failure == -ENOMEM)
        PyErr_NoMemory();
    else if (failure)
        fg_raise_pattern(&error);
    return text[0] && !failure ? 0 : -1;
}

int fg_filter_add_tuple(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *tuple)
{
    int error = 0;

    for (Py_ssize_t i = 0; !error && i < PyTuple_GET_SIZE(tuple); i++)
        error = add_pattern(filter, set, PyTuple_GET_ITEM(tuple, i));
    return error;
}

int fg_filter_add_sequence(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *sequence,
                           const char *what)
{
    PyObject *tuple = sequence ? fg_pattern_tuple(sequence, what) : NULL;
    int error = tuple ? fg_filter_add_tuple(filter, set, tuple) : sequence ? -1 : 0;

    Py_XDECREF(tuple);
    return error;
}

int fg_filter_add_sets(struct fg_filter *filter, PyObject *const sequences[FGRAPH_NR_FILTER_SETS])
{
    int error = 0;

    for (int set = 0; !error && set < FGRAPH_NR_FILTER_SETS; set++)
        error = fg_filter_add_sequence(filter, (enum fgraph_filter_set)set, sequences[set],
                                       fg_filter_set_names[set]);
    return error;
}

int fg_fprobe_filter_fill(struct fg_fprobe_filter *filter, PyObject *patterns, const char *what,
                          PyObject *notpatterns, const char *notwhat)
{
    struct fg_filter sets = {.c_calls = false};

    if (fg_filter_add_sequence(&sets, FGRAPH_FILTER, patterns, what) != 0 ||
        fg_filter_add_sequence(&sets, FGRAPH_NOTRACE, notpatterns, notwhat) != 0) {
        fg_filter_clear(&sets);
        return -1;
    }
    *filter =
        (struct fg_fprobe_filter){.filter = sets.sets[FGRAPH_FILTER], .notfilter = sets.sets[FGRAPH_NOTRACE]};
    return 0;
}

/* The ids of a tuple, to be freed; NULL: memory is short, or it is None. */
static int *tids_of(PyObject *tuple, size_t *n)
{
    int *tids;

    *n = tuple == Py_None ? 0 : (size_t)PyTuple_GET_SIZE(tuple);
    tids = tuple == Py_None ? NULL : malloc((*n + 1) * sizeof(*tids));
    for (size_t i = 0; tids && i < *n; i++)
        tids[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, (Py_ssize_t)i));
    return tids;
}

int fg_filter_set_tid_tuples(struct fg_filter *filter, PyObject *only, PyObject *never)
{
    size_t n, n_never;
    int *tids, *never_tids;

    if (only == Py_None && never == Py_None)
        return 0;
    tids = tids_of(only, &n);
    never_tids = tids_of(never, &n_never);
    if ((tids || only == Py_None) && (never_tids || never == Py_None))
        filter->tids = fg_tids_new(tids, n, never_tids, n_never);
    free(tids);
    free(never_tids);
    if (filter->tids)
        return 0;
    PyErr_NoMemory();
    return -1;
}

int fg_filter_set_tids(struct fg_filter *filter, PyObject *only, PyObject *never)
{
    PyObject *only_tuple = fg_tid_tuple(only), *never_tuple = only_tuple ? fg_tid_tuple(never) : NULL;
    int error = never_tuple ? fg_filter_set_tid_tuples(filter, only_tuple, never_tuple) : -1;

    Py_XDECREF(only_tuple);
    Py_XDECREF(never_tuple);
    return error;
}

/* ---- back to Python */

PyObject *fg_patterns_to_tuple(const struct fg_patterns *patterns)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)patterns->n);

    for (size_t i = 0; tuple && i < patterns->n; i++) {
        PyObject *text = PyUnicode_FromString(patterns->items[i].text);

        if (text)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

PyObject *fg_tids_to_tuple(const struct fg_tids *set)
{
    size_t n = 0;
    const int *tids = set ? fg_tids_array(set, &n) : NULL;

    return tids ? fg_int_tuple(tids, n) : Py_NewRef(Py_None);
}

/* ---- methods */

PyObject *fg_filter_set_patterns(PyObject *self, enum fgraph_filter_set set, PyObject *args, PyObject *kwargs,
                                 fg_edit_filter edit)
{
    static char *names[] = {"patterns", "reset", NULL};
    PyObject *sequence, *patterns;
    int reset = 0, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|p", names, &sequence, &reset))
        return NULL;
    patterns = fg_pattern_tuple(sequence, fg_filter_set_names[set]);
    if (!patterns)
        return NULL;
    error = edit(self, set, patterns, reset);
    Py_DECREF(patterns);
    return error ? NULL : Py_NewRef(Py_None);
}
