/* The filters of an ops: what Python gives, checked, and handed to the engine as a whole. */
#include "binding/base/binding.h"

#include <errno.h>
#include <stdlib.h>

#include "binding/base/registration.h"

const char *const fg_filter_set_names[FGRAPH_NR_FILTER_SETS] = {
    [FGRAPH_FILTER] = "filter",
    [FGRAPH_NOTRACE] = "notrace",
    [FGRAPH_GRAPH] = "graph",
    [FGRAPH_GRAPH_NOTRACE] = "graph_notrace",
};

PyObject *fg_tuple_of(PyObject *sequence, const char *what, int (*check)(PyObject *item, const char *what))
{
    PyObject *tuple = PyUnicode_Check(sequence) ? NULL : PySequence_Tuple(sequence);

    if (!tuple) {
        if (PyUnicode_Check(sequence) || PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: a sequence is needed, not %.100s", what,
                         PyUnicode_Check(sequence) ? "one str" : Py_TYPE(sequence)->tp_name);
        return NULL;
    }
    for (Py_ssize_t i = 0; check && tuple && i < PyTuple_GET_SIZE(tuple); i++) {
        if (check(PyTuple_GET_ITEM(tuple, i), what) != 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static int check_pattern(PyObject *item, const char *what)
{
    if (PyUnicode_Check(item))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s: a pattern is a str, not %.100s", what, Py_TYPE(item)->tp_name);
    return -1;
}

static int check_tid(PyObject *item, const char *what)
{
    long tid = PyLong_Check(item) ? PyLong_AsLong(item) : -1;

    if (tid > 0 && tid <= INT_MAX)
        return 0;
    if (PyLong_Check(item))
        PyErr_Format(PyExc_ValueError, "%s: %S is no native thread id", what, item);
    else
        PyErr_Format(PyExc_TypeError, "%s: a native thread id is an int, not %.100s", what,
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

int fg_filter_add_tid_tuple(struct fg_filter *filter, PyObject *tuple)
{
    size_t n = (size_t)PyTuple_GET_SIZE(tuple);
    int *tids = malloc((n + 1) * sizeof(*tids));

    for (size_t i = 0; tids && i < n; i++)
        tids[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
    filter->tids = tids ? fg_tids_new(tids, n) : NULL;
    free(tids);
    if (filter->tids)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int make_filter(const struct fg_python_ops *self, struct fg_filter *filter)
{
    int error = 0;

    for (int set = 0; !error && set < FGRAPH_NR_FILTER_SETS; set++)
        error = fg_filter_add_tuple(filter, (enum fgraph_filter_set)set, self->patterns[set]);
    return error || self->tids == Py_None ? error : fg_filter_add_tid_tuple(filter, self->tids);
}

static int hand_over(struct fg_python_ops *self, struct fg_filter *filter)
{
    if (fg_user_set_filter(&self->ops, filter) == 0 && fg_binding_filter_changed(&self->ops) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

int fg_ops_apply_filters(struct fg_python_ops *self)
{
    struct fg_filter filter = {0};
    int error = make_filter(self, &filter);

    /* One that is disabled stays out; its next registration comes here again. */
    if (!error && !atomic_load(&self->client.is_disabled))
        error = hand_over(self, &filter);
    fg_filter_clear(&filter);
    return error;
}

void fg_ops_detach(struct fg_client *client)
{
    struct fg_python_ops *self = (struct fg_python_ops *)client;
    struct fg_filter filter;

    /* With too little memory it stays attached, and its functions go on answering that they want nothing. */
    Py_BEGIN_CRITICAL_SECTION(self);
    if (fg_filter_make_none(&filter) == 0)
        fg_user_set_filter(&self->ops, &filter);
    Py_END_CRITICAL_SECTION();
    fg_filter_clear(&filter);
}

/* Puts `value` in the place of one of the filters, if the engine takes it. Takes over the reference to `value`.
 *
 * Nothing gives the GIL (or the object's lock) away between the change here and the engine's: two threads that change
 * filters leave both in the same state. */
static int exchange(struct fg_python_ops *self, PyObject **at, PyObject *value)
{
    PyObject *old = *at;
    int error;

    *at = value;
    error = fg_ops_apply_filters(self);
    if (error && *at == value) {
        *at = old;
        old = value;
    }
    Py_DECREF(old);
    return error;
}

int fg_ops_edit_filter(PyObject *object, enum fgraph_filter_set set, PyObject *patterns, bool reset)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *value;
    int error = -1;

    Py_BEGIN_CRITICAL_SECTION(object);
    value = reset ? Py_NewRef(patterns) : PySequence_Concat(self->patterns[set], patterns);
    if (value)
        error = exchange(self, &self->patterns[set], value);
    Py_END_CRITICAL_SECTION();
    return error;
}

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

PyObject *fg_ops_set_tids(PyObject *object, PyObject *tids)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *tuple = fg_tid_tuple(tids);
    int error;

    if (!tuple)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    error = exchange(self, &self->tids, tuple);
    Py_END_CRITICAL_SECTION();
    return error ? NULL : Py_NewRef(Py_None);
}
