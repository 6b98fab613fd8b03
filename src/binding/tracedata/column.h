/* Column: memory with the items of one column, which others read through the buffer protocol. */
#ifndef FG_BINDING_COLUMN_H
#define FG_BINDING_COLUMN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/tracedata/state.h"
#include "tracedata/export/slices.h"
#include "tracedata/view/call_columns.h"
#include "tracedata/view/columns.h"

/**
 * fg_columns_tuple - make Python's form of columns
 *
 * Their memory goes over to the columns of the tuple, which free it; @columns is empty then.
 *
 * Return: a tuple of memoryviews, as in COLUMNS; or NULL with an exception.
 */
PyObject *fg_columns_tuple(struct fg_tracedata_state *state, struct fg_columns *columns);

/* The same for slices, in the order of SLICES. */
PyObject *fg_slices_tuple(struct fg_tracedata_state *state, struct fg_slices *slices);

/* The same of calls: as in CALL_COLUMNS. */
PyObject *fg_call_columns_tuple(struct fg_tracedata_state *state, struct fg_call_columns *columns);

/* Adds Column, COLUMNS, KINDS, CALL_COLUMNS and CALL_ENDS to the module. Return: 0, or -1 with an exception. */
int fg_add_column_types(PyObject *module);

/* The size of a batch. Return: 0, or -1 with ValueError. */
int fg_check_batch_size(Py_ssize_t size);

#endif
