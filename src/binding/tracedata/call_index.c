/* See call_index.h. An index never changes, so several threads may ask it at the same time; what takes long
 * releases the GIL. */
#include "binding/tracedata/call_index.h"

#include <errno.h>
#include <string.h>

#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/run_table.h"
#include "tracedata/index/index_detail.h"
#include "tracedata/index/index_image.h"
#include "tracedata/index/index_step.h"

struct call_index {
    PyObject_HEAD struct fg_reader *reader;
    struct fg_call_index *index;
};

static inline struct fg_call_index *index_of(PyObject *self)
{
    return ((struct call_index *)self)->index;
}

/* What is read besides the index. */
static inline const struct fg_recorded *recorded_of(PyObject *self)
{
    return ((struct call_index *)self)->reader->file.recorded;
}

static struct call_index *new_object(PyObject *reader)
{
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(reader));
    PyObject *made = state->call_index_type->tp_alloc(state->call_index_type, 0);

    if (made)
        ((struct call_index *)made)->reader = (struct fg_reader *)Py_NewRef(reader);
    return (struct call_index *)made;
}

/* ---- Reader.call_index() */

/* While an index is made without the GIL. */
struct watch {
    PyObject *progress; /* is called with the number of events; None: nothing is */
    PyThreadState *thread;
};

/* An exception of the callable, or of a signal's handler, ends the making. */
static int report(void *context, uint64_t nr_events)
{
    struct watch *watch = context;
    PyObject *result = NULL;
    bool failed;

    PyEval_RestoreThread(watch->thread);
    failed = PyErr_CheckSignals() < 0;
    if (!failed && watch->progress != Py_None) {
        result = PyObject_CallFunction(watch->progress, "K", (unsigned long long)nr_events);
        failed = !result;
        Py_XDECREF(result);
    }
    watch->thread = PyEval_SaveThread();
    return failed ? -ECANCELED : 0;
}

static int make(struct call_index *made, struct fg_name_table *names, size_t most_bytes, PyObject *progress)
{
    struct fg_reader *reader = made->reader;
    struct watch watch = {.progress = progress};
    struct fg_index_progress reporter = {report, &watch};
    struct fg_merge merge = {0};
    int error;

    watch.thread = PyEval_SaveThread();
    error = fg_merge_open(&merge, &reader->file, names);
    if (!error)
        error = fg_call_index_make(&merge, most_bytes, &reporter, &made->index);
    PyEval_RestoreThread(watch.thread);
    if (error && !PyErr_Occurred())
        fg_reader_raise(reader, error, merge.reason);
    fg_merge_close(&merge);
    return error;
}

PyObject *fg_reader_call_index(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_name_table names = {0};
    PyObject *functions, *tasks, *progress = Py_None;
    struct call_index *made;
    Py_ssize_t most_bytes;

    if (!PyArg_ParseTuple(args, "OO!n|O:call_index", &functions, &PyList_Type, &tasks, &most_bytes,
                          &progress))
        return NULL;
    if (most_bytes < 1) {
        PyErr_Format(PyExc_ValueError, "most_bytes must be >= 1, got %zd", most_bytes);
        return NULL;
    }
    made = new_object(self);
    if (made && (fg_fill_names(&names, &reader->file, functions, tasks, true) < 0 ||
                 make(made, &names, (size_t)most_bytes, progress)))
        Py_CLEAR(made);
    fg_name_table_free(&names);
    return (PyObject *)made;
}

/* ---- images */

static bool is_key(Py_ssize_t bytes)
{
    if (bytes != FG_INDEX_KEY_BYTES)
        PyErr_Format(PyExc_ValueError, "a key has %d bytes, got %zd", FG_INDEX_KEY_BYTES, bytes);
    return bytes == FG_INDEX_KEY_BYTES;
}

PyObject *fg_reader_load_call_index(PyObject *self, PyObject *args)
{
    struct fg_index_trace trace = {.nr_lanes = ((struct fg_reader *)self)->file.nr_lanes};
    struct call_index *made;
    Py_ssize_t key_bytes;
    const char *key;
    int fd, error;

    if (!PyArg_ParseTuple(args, "iy#II:load_call_index", &fd, &key, &key_bytes, &trace.nr_functions,
                          &trace.nr_tasks) ||
        !is_key(key_bytes))
        return NULL;
    memcpy(trace.key, key, sizeof(trace.key));
    made = new_object(self);
    if (!made)
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_index_image_read(fd, &trace, &made->index);
    Py_END_ALLOW_THREADS;
    if (!error)
        return (PyObject *)made;
    Py_DECREF(made);
    if (error != -EBADMSG)
        return fg_raise_errno(error, NULL);
    PyErr_SetString(PyExc_ValueError, "not the image of this trace's index, or damaged");
    return NULL;
}

PyDoc_STRVAR(save_doc, "save($self, fd, key, runs=None, /)\n--\n\n"
                       "Write the index to an empty file, with the table that run_table() returned.");

static PyObject *save(PyObject *self, PyObject *args)
{
    struct fg_run_views runs = {0};
    PyObject *tuple = Py_None;
    Py_ssize_t key_bytes;
    const char *key;
    int fd, error;

    if (!PyArg_ParseTuple(args, "iy#|O:save", &fd, &key, &key_bytes, &tuple) || !is_key(key_bytes) ||
        (tuple != Py_None && fg_run_views_open(&runs, tuple) < 0))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error =
        fg_index_image_write(index_of(self), tuple == Py_None ? NULL : &runs.table, fd, (const uint8_t *)key);
    Py_END_ALLOW_THREADS;
    fg_run_views_close(&runs);
    if (error)
        return fg_raise_errno(error, NULL);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(runs_doc,
             "runs($self, /)\n--\n\n"
             "Return the table of runs that the image has, as run_table() does; None: it has none.");

static PyObject *runs(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    if (!index_of(self)->has_runs)
        Py_RETURN_NONE;
    return fg_run_table_copy(PyType_GetModuleState(Py_TYPE(self)), &index_of(self)->runs);
}

/* ---- the object */

static void call_index_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    fg_call_index_free(index_of(self));
    Py_XDECREF(((struct call_index *)self)->reader);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- arguments */

static bool is_lane(const struct fg_call_index *index, unsigned int lane)
{
    if (lane >= index->nr_lanes)
        PyErr_Format(PyExc_ValueError, "no lane %u: the index has %zu", lane, index->nr_lanes);
    return lane < index->nr_lanes;
}

/* ---- results */

/* Takes over the rows. */
static PyObject *rows_tuple(PyObject *self, struct fg_span_rows *rows, int error)
{
    /* An array without items has memory all the same: some users of the buffer protocol need that. */
    if (!error)
        error = fg_span_rows_reserve(rows);
    if (error) {
        fg_span_rows_free(rows);
        return fg_raise_errno(error, NULL);
    }

    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {rows->name, rows->n, sizeof(type), format},
        FG_SPAN_COLUMNS(X)
#undef X
    };

    return fg_column_tuple(PyType_GetModuleState(Py_TYPE(self)), arrays, FG_NR_ITEMS(arrays));
}

/* ---- questions */

PyDoc_STRVAR(lanes_doc, "lanes($self, /)\n--\n\n"
                        "Return a tuple for each lane: see the type stub.");

static PyObject *lanes(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_call_index *index = index_of(self);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < index->nr_lanes; i++) {
        const struct fg_index_lane *lane = &index->lanes[i];

        fg_list_append(&list,
                       Py_BuildValue("(IKKKKI)", lane->task, (unsigned long long)lane->first_ns,
                                     (unsigned long long)lane->last_ns, (unsigned long long)lane->nr_calls,
                                     (unsigned long long)lane->nr_spans, lane->nr_depths));
    }
    return list;
}

PyDoc_STRVAR(picture_doc, "picture($self, lane, begin_ns, end_ns, pixels, first_depth, last_depth, /)\n--\n\n"
                          "Return what a picture of a part of a lane shows, as columns.");

static PyObject *picture(PyObject *self, PyObject *args)
{
    unsigned int lane, pixels, first, last;
    unsigned long long begin_ns, end_ns;
    struct fg_span_rows rows = {0};
    struct fg_picture part;
    int error;

    if (!PyArg_ParseTuple(args, "IKKIII:picture", &lane, &begin_ns, &end_ns, &pixels, &first, &last) ||
        !is_lane(index_of(self), lane))
        return NULL;
    if (begin_ns >= end_ns || !pixels) {
        PyErr_SetString(PyExc_ValueError, "end_ns must be after begin_ns, and pixels >= 1");
        return NULL;
    }
    part = (struct fg_picture){lane, begin_ns, end_ns, pixels, first, last};
    Py_BEGIN_ALLOW_THREADS;
    error = fg_detail_picture(index_of(self), recorded_of(self), &part, &rows);
    Py_END_ALLOW_THREADS;
    return rows_tuple(self, &rows, error);
}

PyDoc_STRVAR(innermost_doc, "innermost($self, lane, time_ns, /)\n--\n\n"
                            "Return the innermost span that is in progress at a time: one row, or none.");

static PyObject *innermost(PyObject *self, PyObject *args)
{
    struct fg_span_rows rows = {0};
    unsigned long long time_ns;
    unsigned int lane;
    int error;

    if (!PyArg_ParseTuple(args, "IK:innermost", &lane, &time_ns) || !is_lane(index_of(self), lane))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_detail_call_at(index_of(self), recorded_of(self), lane, time_ns, &rows);
    Py_END_ALLOW_THREADS;
    return rows_tuple(self, &rows, error);
}

PyDoc_STRVAR(parents_doc, "parents($self, lane, depth, time_ns, /)\n--\n\n"
                          "Return the spans in progress at a time below a depth, the innermost first.");

static PyObject *parents(PyObject *self, PyObject *args)
{
    struct fg_span_rows rows = {0};
    unsigned long long time_ns;
    unsigned int lane, depth;
    int error;

    if (!PyArg_ParseTuple(args, "IIK:parents", &lane, &depth, &time_ns) || !is_lane(index_of(self), lane))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_detail_parents(index_of(self), recorded_of(self), lane, depth, time_ns, &rows);
    Py_END_ALLOW_THREADS;
    return rows_tuple(self, &rows, error);
}

static PyObject *step_to(PyObject *self, PyObject *args, bool is_next)
{
    struct fg_step step = {.lane = UINT32_MAX, .is_next = is_next};
    struct fg_span_rows rows = {0};
    unsigned long long time_ns;
    int raised = false, error;

    if (!PyArg_ParseTuple(args, "IK|Ip", &step.func, &time_ns, &step.lane, &raised) ||
        (step.lane != UINT32_MAX && !is_lane(index_of(self), step.lane)))
        return NULL;
    step.time_ns = time_ns;
    step.raised = raised;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_index_step(index_of(self), recorded_of(self), &step, &rows);
    Py_END_ALLOW_THREADS;
    return rows_tuple(self, &rows, error);
}

PyDoc_STRVAR(next_doc, "next_span($self, function, after_ns, lane=2**32-1, raised=False, /)\n--\n\n"
                       "Return the first span of a function that begins after a time: one row, or none.");

static PyObject *next_span(PyObject *self, PyObject *args)
{
    return step_to(self, args, true);
}

PyDoc_STRVAR(previous_doc, "previous_span($self, function, before_ns, lane=2**32-1, raised=False, /)\n--\n\n"
                           "Return the last span of a function that begins before a time: one row, or none.");

static PyObject *previous_span(PyObject *self, PyObject *args)
{
    return step_to(self, args, false);
}

PyDoc_STRVAR(longest_doc, "longest($self, function, least_ns, most, /)\n--\n\n"
                          "Return at most `most` spans of a function, the longest first.");

static PyObject *longest(PyObject *self, PyObject *args)
{
    unsigned long long least_ns;
    struct fg_span_rows rows = {0};
    unsigned int function, most;
    int error;

    if (!PyArg_ParseTuple(args, "IKI:longest", &function, &least_ns, &most))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_index_longest(index_of(self), function, least_ns, most, &rows);
    Py_END_ALLOW_THREADS;
    return rows_tuple(self, &rows, error);
}

PyDoc_STRVAR(rank_doc, "rank($self, function, begin_ns, /)\n--\n\n"
                       "Return how many spans of a function begin before a time; None: it is not known.");

static PyObject *rank(PyObject *self, PyObject *args)
{
    unsigned long long begin_ns;
    unsigned int function;
    uint64_t found = 0;
    int error;

    if (!PyArg_ParseTuple(args, "IK:rank", &function, &begin_ns))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_index_rank(index_of(self), recorded_of(self), function, begin_ns, &found);
    Py_END_ALLOW_THREADS;
    if (error == -ENODATA)
        Py_RETURN_NONE;
    return error ? fg_raise_errno(error, NULL) : PyLong_FromUnsignedLongLong(found);
}

/* NULL: it was not called. */
static const struct fg_index_function *function_at(PyObject *self, uint32_t function)
{
    const struct fg_call_index *index = index_of(self);

    return function <= index->nr_functions ? index->functions[function] : NULL;
}

PyDoc_STRVAR(functions_doc, "functions($self, /)\n--\n\n"
                            "Return (function, calls, spans, raised, total_ns) of each that was called.");

static PyObject *functions(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i <= index_of(self)->nr_functions; i++) {
        const struct fg_index_function *function = function_at(self, i);

        if (function)
            fg_list_append(&list, Py_BuildValue("(IKKKK)", i, (unsigned long long)function->nr_calls,
                                                (unsigned long long)function->nr_spans,
                                                (unsigned long long)function->nr_raised,
                                                (unsigned long long)function->total_ns));
    }
    return list;
}

PyDoc_STRVAR(durations_doc, "durations($self, function, /)\n--\n\n"
                            "Return how many whole calls of a function took so many bits of nanoseconds.");

static PyObject *durations(PyObject *self, PyObject *args)
{
    const struct fg_index_function *called;
    unsigned int function;
    PyObject *list;

    if (!PyArg_ParseTuple(args, "I:durations", &function))
        return NULL;
    called = function_at(self, function);
    list = PyList_New(0);
    for (size_t i = 0; list && i < FG_INDEX_NR_DURATIONS; i++)
        fg_list_append(&list, PyLong_FromUnsignedLongLong(called ? called->durations[i] : 0));
    return list;
}

PyDoc_STRVAR(marks_doc, "marks($self, lane, kind, begin_ns, end_ns, most, /)\n--\n\n"
                        "Return at most `most` marks of a lane, from begin_ns to before end_ns.");

static PyObject *marks(PyObject *self, PyObject *args)
{
    const struct fg_call_index *index = index_of(self);
    unsigned long long begin_ns, end_ns;
    unsigned int lane, kind;
    Py_ssize_t most;
    size_t first, end;
    PyObject *list;

    if (!PyArg_ParseTuple(args, "IIKKn:marks", &lane, &kind, &begin_ns, &end_ns, &most) ||
        !is_lane(index, lane))
        return NULL;
    end = fg_index_marks(index, lane, kind, begin_ns, end_ns, &first);
    list = PyList_New(0);
    for (size_t i = first; list && i < end && (Py_ssize_t)(i - first) < most; i++) {
        const struct fg_index_mark *mark = &index->marks[i];

        fg_list_append(&list, Py_BuildValue("(KKI)", (unsigned long long)mark->time_ns,
                                            (unsigned long long)mark->count, mark->func));
    }
    return list;
}

static PyMethodDef call_index_methods[] = {
    {"lanes", lanes, METH_NOARGS, lanes_doc},
    {"picture", picture, METH_VARARGS, picture_doc},
    {"innermost", innermost, METH_VARARGS, innermost_doc},
    {"parents", parents, METH_VARARGS, parents_doc},
    {"next_span", next_span, METH_VARARGS, next_doc},
    {"previous_span", previous_span, METH_VARARGS, previous_doc},
    {"longest", longest, METH_VARARGS, longest_doc},
    {"rank", rank, METH_VARARGS, rank_doc},
    {"functions", functions, METH_NOARGS, functions_doc},
    {"durations", durations, METH_VARARGS, durations_doc},
    {"marks", marks, METH_VARARGS, marks_doc},
    {"save", save, METH_VARARGS, save_doc},
    {"runs", runs, METH_NOARGS, runs_doc},
    {NULL, NULL, 0, NULL},
};

/* ---- attributes */

static PyObject *get_unknown_tasks(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_call_index *index = index_of(self);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < index->nr_tasks; i++)
        fg_list_append(&list, Py_BuildValue("(Ii)", index->tasks[i].lane, index->tasks[i].tid));
    return list;
}

static PyObject *get_base(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong((long)index_of(self)->base);
}

static PyObject *get_nr_spans(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(index_of(self)->nr_spans);
}

static PyObject *get_nr_bytes(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_call_index *index = index_of(self);
    size_t bytes = index->nr_spans * sizeof(*index->spans) +
                   (index->by_function.n + index->raised.n) * sizeof(uint32_t) +
                   index->nr_blocks * sizeof(*index->blocks) + index->nr_shorts * sizeof(*index->shorts) +
                   index->nr_marks * sizeof(*index->marks);

    for (unsigned i = 0; i < FG_INDEX_MAX_LEVELS; i++)
        bytes += index->levels[i].n * sizeof(*index->levels[i].cells);
    return PyLong_FromSize_t(bytes);
}

static PyGetSetDef call_index_getset[] = {
    {"unknown_tasks", get_unknown_tasks, NULL, "(lane, tid) of tasks that the list of tasks has not.", NULL},
    {"base", get_base, NULL, "Spans shorter than 4**base ns are in cells only.", NULL},
    {"nr_spans", get_nr_spans, NULL, "How many spans there are one by one.", NULL},
    {"nr_bytes", get_nr_bytes, NULL, "How many bytes spans, cells and marks have.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot call_index_slots[] = {
    {Py_tp_doc, "The index of a trace's calls. Made by Reader.call_index()."},
    {Py_tp_dealloc, (void *)call_index_dealloc},
    {Py_tp_methods, call_index_methods},
    {Py_tp_getset, call_index_getset},
    {0, NULL},
};

static PyType_Spec call_index_spec = {
    .name = "funcgraph._tracedata.CallIndex",
    .basicsize = sizeof(struct call_index),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = call_index_slots,
};

int fg_add_call_index_types(PyObject *module)
{
    static const char *const columns[] = {
#define X(name, type, format, text) #name,
        FG_SPAN_COLUMNS(X)
#undef X
    };
    static const char *const ends[] = {
#define X(name, value) [(value)] = #name,
        FG_SPAN_ENDS(X)
#undef X
    };
    static const char *const kinds[] = {
#define X(name, value) [(value)] = #name,
        FG_INDEX_MARKS(X)
#undef X
    };

    _Static_assert(FG_NR_ITEMS(ends) == FG_NR_SPAN_ENDS, "cells have the number after the last end");
    if (fg_add_names(module, "SPAN_COLUMNS", columns, FG_NR_ITEMS(columns)) < 0 ||
        fg_add_names(module, "SPAN_ENDS", ends, FG_NR_ITEMS(ends)) < 0 ||
        fg_add_names(module, "MARK_KINDS", kinds, FG_NR_ITEMS(kinds)) < 0)
        return -1;
    return fg_add_type(module, &call_index_spec, &fg_tracedata_state(module)->call_index_type);
}
