/* See run_table.h. */
#include "binding/tracedata/run_table.h"

#include "binding/base/sequences.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/reader_object.h"
#include "tracedata/index/run_table.h"

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

    if (!PyArg_ParseTuple(args, "O!O!y#nn:run_table", &PyList_Type, &functions, &PyList_Type, &tasks, &flags,
                          &nr_flags, &most_runs, &most_roots))
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
