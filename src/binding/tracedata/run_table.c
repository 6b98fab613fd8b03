/* See run_table.h. */
#include "binding/tracedata/run_table.h"

#include <stdlib.h>
#include <string.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/reader_object.h"
#include "tracedata/index/run_maker.h"

/* Takes over the columns. */
static PyObject *root_columns(struct fg_tracedata_state *state, struct fg_root_columns *roots)
{
    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {roots->name, roots->n, sizeof(type), format},
        FG_ROOT_COLUMNS(X)
#undef X
    };

    *roots = (struct fg_root_columns){0};
    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

static PyObject *run_columns(struct fg_tracedata_state *state, struct fg_run_columns *runs)
{
    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {runs->name, runs->n, sizeof(type), format},
        FG_RUN_COLUMNS(X)
#undef X
    };

    *runs = (struct fg_run_columns){0};
    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

static PyObject *table_tuple(struct fg_tracedata_state *state, struct fg_run_table *table)
{
    PyObject *roots = root_columns(state, &table->roots);
    PyObject *runs = roots ? run_columns(state, &table->runs) : NULL;
    PyObject *result =
        runs ? Py_BuildValue("(OOK)", roots, runs, (unsigned long long)table->nr_left_out) : NULL;

    Py_XDECREF(roots);
    Py_XDECREF(runs);
    return result;
}

/* ---- tables of images */

static void *copy_of(const void *items, size_t bytes)
{
    void *copy = malloc(bytes + 1);

    return copy ? memcpy(copy, items, bytes) : NULL;
}

PyObject *fg_run_table_copy(struct fg_tracedata_state *state, const struct fg_run_table *table)
{
    struct fg_run_table copy = {.roots.n = table->roots.n, .runs.n = table->runs.n};
    PyObject *result = NULL;
    bool is_whole = true;

    copy.nr_left_out = table->nr_left_out;
#define X(name, type, format, text)                                                                          \
    copy.roots.name = copy_of(table->roots.name, copy.roots.n * sizeof(type));                               \
    is_whole = is_whole && copy.roots.name;
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text)                                                                          \
    copy.runs.name = copy_of(table->runs.name, copy.runs.n * sizeof(type));                                  \
    is_whole = is_whole && copy.runs.name;
    FG_RUN_COLUMNS(X)
#undef X
    if (is_whole)
        result = table_tuple(state, &copy);
    else
        PyErr_NoMemory();
    fg_run_table_free(&copy);
    return result;
}

/* Sets @items to those of the next column. */
static int open_column(struct fg_run_views *views, PyObject *column, size_t item_bytes, size_t *n,
                       void *items)
{
    Py_buffer *view = &views->views[views->n];

    if (PyObject_GetBuffer(column, view, PyBUF_SIMPLE) < 0)
        return -1;
    *(void **)items = view->buf;
    views->n++;
    if (*n == SIZE_MAX) /* it is the first one */
        *n = (size_t)view->len / item_bytes;
    if ((size_t)view->len == *n * item_bytes)
        return 0;
    PyErr_SetString(PyExc_ValueError, "the columns of a table must have the same length");
    return -1;
}

static int open_columns(struct fg_run_views *views, PyObject *roots, PyObject *runs)
{
    struct fg_run_table *table = &views->table;

    table->roots.n = table->runs.n = SIZE_MAX;
#define X(name, type, format, text)                                                                          \
    if (open_column(views, PyTuple_GET_ITEM(roots, FG_ROOT_COLUMN_##name), sizeof(type), &table->roots.n,    \
                    (void *)&table->roots.name) < 0)                                                         \
        return -1;
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text)                                                                          \
    if (open_column(views, PyTuple_GET_ITEM(runs, FG_RUN_COLUMN_##name), sizeof(type), &table->runs.n,       \
                    (void *)&table->runs.name) < 0)                                                          \
        return -1;
    FG_RUN_COLUMNS(X)
#undef X
    return 0;
}

int fg_run_views_open(struct fg_run_views *views, PyObject *tuple)
{
    unsigned long long left_out;
    PyObject *roots, *runs;

    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "runs must be what run_table() returned");
        return -1;
    }
    if (!PyArg_ParseTuple(tuple, "O!O!K", &PyTuple_Type, &roots, &PyTuple_Type, &runs, &left_out))
        return -1;
    if (PyTuple_GET_SIZE(roots) != FG_NR_ROOT_COLUMNS || PyTuple_GET_SIZE(runs) != FG_NR_RUN_COLUMNS) {
        PyErr_SetString(PyExc_ValueError, "runs must have the columns that run_table() returns");
        return -1;
    }
    views->table.nr_left_out = left_out;
    if (open_columns(views, roots, runs) == 0)
        return 0;
    fg_run_views_close(views);
    return -1;
}

void fg_run_views_close(struct fg_run_views *views)
{
    while (views->n)
        PyBuffer_Release(&views->views[--views->n]);
}

/* ---- Reader.run_table() */

static int make(struct fg_reader *reader, struct fg_name_table *names, struct fg_run_source *source,
                struct fg_run_table *table)
{
    struct fg_merge merge = {0};
    int error;

    source->merge = &merge;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_merge_open(&merge, &reader->file, names);
    if (!error)
        error = fg_run_table_make(table, source);
    Py_END_ALLOW_THREADS;
    if (error)
        fg_reader_raise(reader, error, merge.reason);
    fg_merge_close(&merge);
    return error;
}

PyObject *fg_reader_run_table(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_run_source source = {0};
    struct fg_run_table table = {0};
    struct fg_name_table names = {0};
    Py_ssize_t nr_flags, most_runs, most_roots;
    PyObject *functions, *tasks, *result = NULL;
    const char *flags;

    if (!PyArg_ParseTuple(args, "OO!y#nn:run_table", &functions, &PyList_Type, &tasks, &flags, &nr_flags,
                          &most_runs, &most_roots))
        return NULL;
    if (most_runs < 2 || most_roots < 2) {
        PyErr_SetString(PyExc_ValueError, "most_runs and most_roots must be >= 2");
        return NULL;
    }
    source.func_flags = (const uint8_t *)flags;
    source.nr_functions = (size_t)nr_flags;
    source.most_runs = (size_t)most_runs;
    source.most_roots = (size_t)most_roots;
    if (fg_fill_names(&names, &reader->file, functions, tasks, true) == 0 &&
        make(reader, &names, &source, &table) == 0)
        result = table_tuple(PyType_GetModuleState(Py_TYPE(self)), &table);
    fg_run_table_free(&table);
    fg_name_table_free(&names);
    return result;
}

int fg_add_run_table_names(PyObject *module)
{
    static const char *const roots[] = {
#define X(name, type, format, text) #name,
        FG_ROOT_COLUMNS(X)
#undef X
    };
    static const char *const runs[] = {
#define X(name, type, format, text) #name,
        FG_RUN_COLUMNS(X)
#undef X
    };

    return fg_add_names(module, "ROOT_COLUMNS", roots, FG_NR_ITEMS(roots)) < 0
               ? -1
               : fg_add_names(module, "RUN_COLUMNS", runs, FG_NR_ITEMS(runs));
}
