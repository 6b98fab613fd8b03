/* See column_input.h. */
#include "binding/tracedata/base/column_input.h"

#include "binding/base/sequences.h"

bool fg_take_array(struct fg_column_input *input, PyObject *array, size_t item_bytes, const void **items,
                   size_t *n)
{
    Py_buffer *view = &input->views[input->n];

    if (PyObject_GetBuffer(array, view, PyBUF_FORMAT | PyBUF_ND) < 0)
        return false;
    input->n++;
    if (view->ndim != 1 || (size_t)view->itemsize != item_bytes) {
        PyErr_Format(PyExc_ValueError, "an array must have one dimension and items of %zu bytes", item_bytes);
        return false;
    }
    *items = view->buf;
    *n = (size_t)view->len / item_bytes;
    return true;
}

void fg_column_input_release(struct fg_column_input *input)
{
    while (input->n)
        PyBuffer_Release(&input->views[--input->n]);
}

struct array {
    void **items;
    size_t item_bytes;
};

/* Offsets never go back, and the last one is within the data. */
static bool are_offsets(const int32_t *offsets, size_t n, size_t data_bytes)
{
    for (size_t i = 0; i < n; i++)
        if (offsets[i] > offsets[i + 1])
            return false;
    return offsets[0] >= 0 && (size_t)offsets[n] <= data_bytes;
}

/* The last two arrays are data_offsets and data. */
static bool take(struct fg_column_input *input, PyObject *tuple, const struct array *arrays, size_t nr_arrays,
                 size_t *n, size_t *data_bytes)
{
    size_t offsets = nr_arrays - 2;

    if (!PyTuple_Check(tuple) || PyTuple_GET_SIZE(tuple) != (Py_ssize_t)nr_arrays) {
        PyErr_Format(PyExc_TypeError, "must be a tuple of %zu arrays", nr_arrays);
        return false;
    }
    for (size_t i = 0; i < nr_arrays; i++) {
        const void *items;
        size_t length;

        if (!fg_take_array(input, PyTuple_GET_ITEM(tuple, (Py_ssize_t)i), arrays[i].item_bytes, &items,
                           &length))
            return false;
        *arrays[i].items = (void *)items;
        if (i == 0)
            *n = length;
        if (i == offsets + 1)
            *data_bytes = length;
        else if (length != *n + (i == offsets)) {
            PyErr_SetString(PyExc_ValueError, "the arrays must have one length, data_offsets one item more");
            return false;
        }
    }
    if (!are_offsets(*arrays[offsets].items, *n, *data_bytes)) {
        PyErr_SetString(PyExc_ValueError, "data_offsets must be in order and within data");
        return false;
    }
    return true;
}

bool fg_take_columns(struct fg_column_input *input, PyObject *tuple, struct fg_columns *columns)
{
    const struct array arrays[] = {
#define X(name, type, format, text) {(void **)&columns->name, sizeof(type)},
        FG_COLUMNS(X)
#undef X
            {(void **)&columns->data_offsets, sizeof(int32_t)},
        {(void **)&columns->data, 1},
    };

    *columns = (struct fg_columns){0};
    return take(input, tuple, arrays, FG_NR_ITEMS(arrays), &columns->n, &columns->data_bytes);
}

bool fg_take_slices(struct fg_column_input *input, PyObject *tuple, struct fg_slices *slices)
{
    const struct array arrays[] = {
#define X(name, type, format, text) {(void **)&slices->name, sizeof(type)},
        FG_SLICES(X)
#undef X
            {(void **)&slices->data_offsets, sizeof(int32_t)},
        {(void **)&slices->data, 1},
    };

    *slices = (struct fg_slices){0};
    return take(input, tuple, arrays, FG_NR_ITEMS(arrays), &slices->n, &slices->data_bytes);
}
