/* Columns that Python code hands back in: the arrays of a batch, checked, without a copy. */
#ifndef FG_BINDING_COLUMN_INPUT_H
#define FG_BINDING_COLUMN_INPUT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "tracedata/export/slices.h"
#include "tracedata/view/columns.h"

/* The larger of the two batches with its two arrays of data, and two arrays more. */
enum {
#define X(name, type, format, text) +1
    FG_NR_COLUMN_ARRAYS = 4 FG_COLUMNS(X),
    FG_NR_SLICE_ARRAYS = 4 FG_SLICES(X),
#undef X
    FG_MAX_INPUT_COLUMNS =
        FG_NR_COLUMN_ARRAYS > FG_NR_SLICE_ARRAYS ? FG_NR_COLUMN_ARRAYS : FG_NR_SLICE_ARRAYS,
};

/* Buffers that are held while the columns are read. A zeroed one holds none. */
struct fg_column_input {
    Py_buffer views[FG_MAX_INPUT_COLUMNS];
    size_t n;
};

/* Each takes a tuple of buffers in the order of COLUMNS or SLICES. Their items may be read until
 * fg_column_input_release(), which must be called in any case. False with TypeError or ValueError. */
bool fg_take_columns(struct fg_column_input *input, PyObject *tuple, struct fg_columns *columns);
bool fg_take_slices(struct fg_column_input *input, PyObject *tuple, struct fg_slices *slices);

/* Takes one array more, of items of @item_bytes. */
bool fg_take_array(struct fg_column_input *input, PyObject *array, size_t item_bytes, const void **items,
                   size_t *n);

void fg_column_input_release(struct fg_column_input *input);

#endif
