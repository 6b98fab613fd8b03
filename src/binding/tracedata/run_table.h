/* Reader.run_table(): when each coroutine of an event loop, and each greenlet, runs. */
#ifndef FG_BINDING_RUN_TABLE_H
#define FG_BINDING_RUN_TABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* For a Reader in its critical section. */
PyObject *fg_reader_run_table(PyObject *self, PyObject *args);

/* Adds ROOT_COLUMNS and RUN_COLUMNS to the module. Return: 0, or -1 with an exception. */
int fg_add_run_table_names(PyObject *module);

#endif
