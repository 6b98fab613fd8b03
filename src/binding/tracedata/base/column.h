/* Column: memory with the items of one column, which others read through the buffer protocol. */
#ifndef FG_BINDING_COLUMN_H
#define FG_BINDING_COLUMN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/tracedata/base/state.h"
#include "tracedata/export/slices.h"
#include "tracedata/view/call_columns.h"
#include "tracedata/view/columns.h"

/* What becomes a column. */
struct fg_column_array {
    void *items; /* from malloc() or aligned_alloc() */
    size_t nr_items, item_bytes;
    const char *format; /* of Python's struct module */
};

/**
 * fg_column_tuple - make columns of @n arrays
 *
 * Their memory goes over to the columns, or is freed if this fails.
 *
 * Return: a tuple of memoryviews; or NULL with an exception.
 */
PyObject *fg_column_tuple(struct fg_tracedata_state *state, struct fg_column_array *arrays, size_t n);

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

/* Adds Column, COLUMNS, KINDS, CALL_COLUMNS and CALL_ENDS to the module. Return: 0, or -1 with an
 * exception. */
int fg_add_column_types(PyObject *module);

/* The size of a batch. Return: 0, or -1 with ValueError. */
int fg_check_batch_size(Py_ssize_t size);

#endif
