/* See column.h. */
#include "binding/tracedata/base/column.h"

#include <stdlib.h>

#include "binding/base/sequences.h"
#include "binding/base/types.h"

#define MAX_BATCH_SIZE (1 << 24)

/* A column never changes: its memory is filled before the object is made. */
struct column {
    PyObject_HEAD void *items; /* from aligned_alloc() */
    Py_ssize_t nr_items, item_bytes;
    const char *format;
};

static void column_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    free(((struct column *)self)->items);
    type->tp_free(self);
    Py_DECREF(type);
}

static int column_getbuffer(PyObject *self, Py_buffer *view, int flags)
{
    struct column *column = (struct column *)self;

    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a column is read-only");
        view->obj = NULL;
        return -1;
    }
    *view = (Py_buffer){
        .buf = column->items,
        .obj = Py_NewRef(self),
        .len = column->nr_items * column->item_bytes,
        .itemsize = column->item_bytes,
        .readonly = 1,
        .ndim = 1,
        .format = flags & PyBUF_FORMAT ? (char *)column->format : NULL,
        .shape = flags & PyBUF_ND ? &column->nr_items : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? &column->item_bytes : NULL,
    };
    return 0;
}

static PyType_Slot column_slots[] = {
    {Py_tp_doc, "The memory of one column of events, for the buffer protocol."},
    {Py_tp_dealloc, (void *)column_dealloc},
    {Py_bf_getbuffer, (void *)column_getbuffer},
    {0, NULL},
};

static PyType_Spec column_spec = {
    .name = "funcgraph._tracedata.Column",
    .basicsize = sizeof(struct column),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = column_slots,
};

/* A memoryview of the array's items, which are taken over: array->items is NULL then. */
static PyObject *column_view(PyTypeObject *type, struct fg_column_array *array)
{
    struct column *column = (struct column *)type->tp_alloc(type, 0);
    PyObject *view;

    if (column == NULL)
        return NULL;
    column->items = array->items;
    column->nr_items = (Py_ssize_t)array->nr_items;
    column->item_bytes = (Py_ssize_t)array->item_bytes;
    column->format = array->format;
    array->items = NULL;
    view = PyMemoryView_FromObject((PyObject *)column);
    Py_DECREF(column);
    return view;
}

PyObject *fg_column_tuple(struct fg_tracedata_state *state, struct fg_column_array *arrays, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *view = column_view(state->column_type, &arrays[i]);

        if (view == NULL)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, view);
    }
    for (size_t i = 0; i < n; i++)
        free(arrays[i].items);
    return tuple;
}

PyObject *fg_columns_tuple(struct fg_tracedata_state *state, struct fg_columns *columns)
{
    fg_columns_trim(columns);

    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {columns->name, columns->n, sizeof(type), format},
        FG_COLUMNS(X)
#undef X
            {columns->data_offsets, columns->n + 1, sizeof(int32_t), "i"},
        {columns->data, columns->data_bytes, 1, "B"},
    };

    *columns = (struct fg_columns){0};
    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

PyObject *fg_slices_tuple(struct fg_tracedata_state *state, struct fg_slices *slices)
{
    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {slices->name, slices->n, sizeof(type), format},
        FG_SLICES(X)
#undef X
            {slices->data_offsets, slices->n + 1, sizeof(int32_t), "i"},
        {slices->data, slices->data_bytes, 1, "B"},
    };

    *slices = (struct fg_slices){0};
    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

/* A column of texts as its arrays. The text becomes the memory of the array. */
static struct fg_column_array texts_of(const struct fg_text_column *column)
{
    return (struct fg_column_array){column->text.data, column->text.bytes, 1, "B"};
}

PyObject *fg_call_columns_tuple(struct fg_tracedata_state *state, struct fg_call_columns *columns)
{
    struct fg_column_array arrays[] = {
#define X(name, type, format, text) {columns->name, columns->n, sizeof(type), format},
        FG_CALL_COLUMNS(X)
#undef X
            {columns->arguments.offsets, columns->n + 1, sizeof(int32_t), "i"},
        texts_of(&columns->arguments),
        {columns->result.offsets, columns->n + 1, sizeof(int32_t), "i"},
        texts_of(&columns->result),
    };

    *columns = (struct fg_call_columns){0};
    return fg_column_tuple(state, arrays, FG_NR_ITEMS(arrays));
}

int fg_check_batch_size(Py_ssize_t size)
{
    if (size >= 1 && size <= MAX_BATCH_SIZE)
        return 0;
    PyErr_Format(PyExc_ValueError, "size must be 1 to %d, got %zd", MAX_BATCH_SIZE, size);
    return -1;
}

int fg_add_column_types(PyObject *module)
{
    static const char *const columns[] = {
#define X(name, type, format, text) #name,
        FG_COLUMNS(X)
#undef X
            "data_offsets",
        "data",
    };
    static const char *const kinds[] = {
#define X(name, value) [(value)] = #name,
        FG_COLUMN_KINDS(X)
#undef X
    };

    static const char *const call_columns[] = {
#define X(name, type, format, text) #name,
        FG_CALL_COLUMNS(X)
#undef X
            "arguments_offsets",
        "arguments",
        "result_offsets",
        "result",
    };
    static const char *const call_ends[] = {
#define X(name, value) [(value)] = #name,
        FG_CALL_ENDS(X)
#undef X
    };

    if (fg_add_names(module, "CALL_COLUMNS", call_columns, FG_NR_ITEMS(call_columns)) < 0 ||
        fg_add_names(module, "CALL_ENDS", call_ends, FG_NR_ITEMS(call_ends)) < 0)
        return -1;
    if (fg_add_names(module, "COLUMNS", columns, FG_NR_ITEMS(columns)) < 0 ||
        fg_add_names(module, "KINDS", kinds, FG_NR_ITEMS(kinds)) < 0)
        return -1;
    return fg_make_type(module, &column_spec, &fg_tracedata_state(module)->column_type);
}
