/* See summary.h. */
#include "binding/tracedata/summary.h"

#include "binding/base/sequences.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/state.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/selection.h"
#include "tracedata/view/summary.h"
#include "tracedata/view/tree_columns.h"

#define SUMMARY_EVENTS (4u << 20) /* between checks for a signal: a few tenths of a second */

static const char *const group_names[] = {
    [FG_TREE_OF_ALL] = "all",
    [FG_TREE_BY_PROCESS] = "process",
    [FG_TREE_BY_TASK] = "task",
};

static PyObject *summary_row(uint32_t index, const struct fg_function_summary *row)
{
    unsigned long long min_ns = row->min_ns == UINT64_MAX ? 0 : row->min_ns;
    return Py_BuildValue("(IKKKKKKKKKK)", index, (unsigned long long)row->calls,
                         (unsigned long long)row->resumes, (unsigned long long)row->exceptions,
                         (unsigned long long)row->total_ns, (unsigned long long)row->self_ns, min_ns,
                         (unsigned long long)row->max_ns, (unsigned long long)row->ended,
                         (unsigned long long)row->ended_ns, (unsigned long long)row->native_ns);
}

static PyObject *summary_rows(const struct fg_summary *summary, uint32_t nr_functions)
{
    const struct fg_function_summary *functions = fg_summary_functions(summary);
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows && i < FG_SUMMARY_ROWS(nr_functions); i++) {
        if (!functions[i].calls && !functions[i].resumes && !functions[i].total_ns &&
            !functions[i].exceptions)
            continue;
        fg_list_append(&rows, summary_row(i, &functions[i]));
    }
    return rows;
}

/* (number, hits) of each kind of event that was hit. */
static PyObject *event_rows(const struct fg_summary *summary)
{
    size_t n;
    const uint64_t *events = fg_summary_events(summary, &n);
    PyObject *rows = PyList_New(0);

    for (size_t i = 0; rows && i < n; i++) {
        if (events[i])
            fg_list_append(&rows, Py_BuildValue("(nK)", (Py_ssize_t)i, (unsigned long long)events[i]));
    }
    return rows;
}

static PyObject *tree_columns(struct fg_tracedata_state *state, const struct fg_call_tree *tree)
{
    struct fg_tree_columns columns;
    int error;

    Py_BEGIN_ALLOW_THREADS;
    error = fg_tree_columns_fill(&columns, tree);
    Py_END_ALLOW_THREADS;
    if (error) {
        fg_tree_columns_free(&columns);
        return PyErr_NoMemory();
    }

    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {columns.name, columns.n, sizeof(type), format},
        FG_TREE_COLUMNS(X)
#undef X
    };

    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

/* Opens the lanes. `group` is -1 for a summary without a tree. Return: 0, or -1 with an exception. */
static int begin(struct fg_reader *reader, int group, struct fg_selected *selected, struct fg_merge *merge,
                 struct fg_summary **summary)
{
    int error;

    Py_BEGIN_ALLOW_THREADS;
    error = fg_selected_open(selected, merge, &reader->file, &reader->names);
    if (!error)
        error = fg_summary_new(merge, summary);
    if (!error && group >= 0)
        error = fg_summary_grow_tree(*summary, (enum fg_tree_groups)group);
    Py_END_ALLOW_THREADS;
    if (error)
        fg_reader_raise(reader, error, merge->reason);
    return error ? -1 : 0;
}

/* Reads all of it. Return: 0, or -1 with an exception. */
static int run(struct fg_reader *reader, const struct fg_merge *merge, struct fg_summary *summary)
{
    int result = 1;

    while (result == 1) {
        if (fg_reader_step(reader) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS;
        result = fg_summary_run(summary, SUMMARY_EVENTS);
        Py_END_ALLOW_THREADS;
    }
    if (result < 0)
        fg_reader_raise(reader, result, merge->reason);
    return result;
}

static PyObject *result_of(PyObject *self, const struct fg_summary *summary)
{
    PyObject *rows = summary_rows(summary, ((struct fg_reader *)self)->names.nr_functions);
    const struct fg_call_tree *tree = fg_summary_tree(summary);
    PyObject *columns;

    if (!rows)
        return NULL;
    columns = tree ? tree_columns(PyType_GetModuleState(Py_TYPE(self)), tree) : event_rows(summary);
    if (!columns) {
        Py_DECREF(rows);
        return NULL;
    }
    return Py_BuildValue("(NN)", rows, columns);
}

static PyObject *sum_up(PyObject *self, int group, PyObject *selection, PyObject *folds)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_selected selected = {0};
    struct fg_merge merge = {0};
    struct fg_summary *summary = NULL;
    PyObject *result = NULL;

    if (!fg_reader_begin(reader))
        return NULL;
    if (fg_selected_parse(&selected, reader, &reader->names, selection) == 0 &&
        fg_selected_parse_folds(&selected, &reader->file, &reader->names, folds) == 0 &&
        begin(reader, group, &selected, &merge, &summary) == 0 && run(reader, &merge, summary) == 0)
        result = result_of(self, summary);
    fg_summary_free(summary);
    if (merge.file)
        fg_merge_close(&merge);
    fg_selected_free(&selected);
    reader->is_busy = false;
    return result;
}

PyObject *fg_reader_summary(PyObject *self, PyObject *args)
{
    PyObject *selection = NULL, *folds = NULL;

    if (!PyArg_ParseTuple(args, "|OO:summary", &selection, &folds))
        return NULL;
    return sum_up(self, -1, selection, folds);
}

PyObject *fg_reader_call_tree(PyObject *self, PyObject *args)
{
    PyObject *selection = NULL, *folds = NULL;
    const char *name;
    int group;

    if (!PyArg_ParseTuple(args, "s|OO:call_tree", &name, &selection, &folds))
        return NULL;
    group = fg_name_index(group_names, FG_NR_ITEMS(group_names), name);
    if (group >= 0)
        return sum_up(self, group, selection, folds);
    PyErr_Format(PyExc_ValueError, "group must be 'all', 'process' or 'task', got '%s'", name);
    return NULL;
}

int fg_add_tree_names(PyObject *module)
{
    static const char *const columns[] = {
#define X(name, type, format, text) #name,
        FG_TREE_COLUMNS(X)
#undef X
    };

    if (fg_add_names(module, "TREE_COLUMNS", columns, FG_NR_ITEMS(columns)) < 0)
        return -1;
    return fg_add_names(module, "TREE_GROUPS", group_names, FG_NR_ITEMS(group_names));
}
