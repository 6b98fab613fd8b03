/* Reader.run_table(): when each coroutine of an event loop, and each greenlet, runs. */
#ifndef FG_BINDING_RUN_TABLE_H
#define FG_BINDING_RUN_TABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/tracedata/base/state.h"
#include "tracedata/index/run_table.h"

enum {
#define X(name, type, format, text) FG_ROOT_COLUMN_##name,
    FG_ROOT_COLUMNS(X)
#undef X
        FG_NR_ROOT_COLUMNS,
};
enum {
#define X(name, type, format, text) FG_RUN_COLUMN_##name,
    FG_RUN_COLUMNS(X)
#undef X
        FG_NR_RUN_COLUMNS,
};

/* For a Reader in its critical section. */
PyObject *fg_reader_run_table(PyObject *self, PyObject *args);

/* A table in the memory of Python's columns. */
struct fg_run_views {
    struct fg_run_table table;
    Py_buffer views[FG_NR_ROOT_COLUMNS + FG_NR_RUN_COLUMNS];
    size_t n;
};

/* Opens what run_table() returned. Return: 0, or -1 with an exception. */
int fg_run_views_open(struct fg_run_views *views, PyObject *tuple);
void fg_run_views_close(struct fg_run_views *views);

/* A copy of a table, as run_table() returns it. */
PyObject *fg_run_table_copy(struct fg_tracedata_state *state, const struct fg_run_table *table);

/* Adds ROOT_COLUMNS and RUN_COLUMNS to the module. Return: 0, or -1 with an exception. */
int fg_add_run_table_names(PyObject *module);

#endif
