/* See columns.h. */
#include "binding/tracedata/columns.h"

#include "binding/base/critical_section.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/batches.h"

/* ---- Reader.columns() */

PyObject *fg_reader_columns(PyObject *self, PyObject *args)
{
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(self));
    struct fg_batch_arguments arguments = {0};

    if (!PyArg_ParseTuple(args, "O!pn|O:columns", &PyList_Type, &arguments.tasks, &arguments.select_unknown,
                          &arguments.size, &arguments.selection))
        return NULL;
    return fg_batches_new(state->columns_iterator_type, self, &arguments, NULL);
}

/* ---- ColumnsIterator */

static void columns_iterator_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    fg_batches_clear((struct fg_batches *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static int fill(struct fg_batches *batches, struct fg_columns *columns)
{
    int result = fg_columns_init(columns, batches->size);

    return result < 0 ? result : fg_columns_fill(columns, &batches->merge);
}

static PyObject *columns_iterator_next(PyObject *self)
{
    struct fg_batches *batches = (struct fg_batches *)self;
    struct fg_columns columns;
    int result;

    if (!fg_batches_begin(batches))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = fill(batches, &columns);
    Py_END_ALLOW_THREADS;
    fg_batches_end(batches, result);
    if (columns.n)
        return fg_columns_tuple(PyType_GetModuleState(Py_TYPE(self)), &columns);
    fg_columns_free(&columns);
    return fg_batches_raise(batches, result);
}

FG_BATCHES_ALONE(columns_iterator_next)

static PyType_Slot columns_iterator_slots[] = {
    {Py_tp_doc, "Iterator over batches of events as columns. Made by Reader.columns()."},
    {Py_tp_dealloc, (void *)columns_iterator_dealloc},
    {Py_tp_iter, (void *)PyObject_SelfIter},
    {Py_tp_iternext, (void *)columns_iterator_next_alone},
    {Py_tp_methods, fg_batches_methods},
    {0, NULL},
};

static PyType_Spec columns_iterator_spec = {
    .name = "funcgraph._tracedata.ColumnsIterator",
    .basicsize = sizeof(struct fg_batches),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = columns_iterator_slots,
};

int fg_add_columns_types(PyObject *module)
{
    return fg_add_type(module, &columns_iterator_spec, &fg_tracedata_state(module)->columns_iterator_type);
}
