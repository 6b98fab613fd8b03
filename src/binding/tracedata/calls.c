/* See calls.h. As for events, an iterator has names and cursors of its own. */
#include "binding/tracedata/calls.h"

#include <stdbool.h>

#include "binding/base/critical_section.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/selection.h"

struct calls_iterator {
    PyObject_HEAD struct fg_reader *reader;
    struct fg_name_table names;
    struct fg_selected selected;
    struct fg_merge merge;
    struct fg_call_reader *calls;
    size_t size;
    int error; /* found after the events that were returned last */
    bool at_end;
    bool is_busy; /* a thread reads without the GIL */
};

/* ---- Reader.calls() */

PyObject *fg_reader_calls(PyObject *self, PyObject *args)
{
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(self));
    struct calls_iterator *iterator;
    PyObject *functions, *tasks, *selection = NULL;
    Py_ssize_t size;
    int select_unknown, error;

    if (!PyArg_ParseTuple(args, "O!O!pn|O:calls", &PyList_Type, &functions, &PyList_Type, &tasks,
                          &select_unknown, &size, &selection) ||
        fg_check_batch_size(size) < 0)
        return NULL;
    iterator = (struct calls_iterator *)state->calls_iterator_type->tp_alloc(state->calls_iterator_type, 0);
    if (!iterator)
        return NULL;
    iterator->reader = (struct fg_reader *)Py_NewRef(self);
    iterator->size = (size_t)size;
    if (fg_fill_names(&iterator->names, &iterator->reader->file, functions, tasks, select_unknown) < 0 ||
        fg_selected_parse(&iterator->selected, &iterator->reader->file, selection) < 0) {
        Py_DECREF(iterator);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    error =
        fg_selected_open(&iterator->selected, &iterator->merge, &iterator->reader->file, &iterator->names);
    if (!error)
        error = fg_call_reader_new(&iterator->merge, &iterator->calls);
    Py_END_ALLOW_THREADS;
    if (error) {
        fg_reader_raise(iterator->reader, error, iterator->merge.reason);
        Py_DECREF(iterator);
        return NULL;
    }
    return (PyObject *)iterator;
}

/* ---- CallsIterator */

static void calls_iterator_dealloc(PyObject *self)
{
    struct calls_iterator *iterator = (struct calls_iterator *)self;
    PyTypeObject *type = Py_TYPE(self);

    fg_call_reader_free(iterator->calls);
    if (iterator->merge.file)
        fg_merge_close(&iterator->merge);
    fg_selected_free(&iterator->selected);
    fg_name_table_free(&iterator->names);
    Py_XDECREF(iterator->reader);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *calls_iterator_next(PyObject *self)
{
    struct calls_iterator *iterator = (struct calls_iterator *)self;
    struct fg_call_columns columns = {0};
    int result;

    if (iterator->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
        return NULL;
    }
    if (iterator->error)
        return fg_reader_raise(iterator->reader, iterator->error, iterator->merge.reason);
    if (iterator->at_end)
        return NULL;
    iterator->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    result = fg_call_reader_fill(iterator->calls, &columns, iterator->size);
    Py_END_ALLOW_THREADS;
    iterator->is_busy = false;
    iterator->at_end = result == 0;
    if (result < 0)
        iterator->error = result;
    if (columns.n)
        return fg_call_columns_tuple(PyType_GetModuleState(Py_TYPE(self)), &columns);
    fg_call_columns_free(&columns);
    return result < 0 ? fg_reader_raise(iterator->reader, result, iterator->merge.reason) : NULL;
}

static PyObject *calls_iterator_next_alone(PyObject *self)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(self);
    result = calls_iterator_next(self);
    Py_END_CRITICAL_SECTION();
    return result;
}

PyDoc_STRVAR(unknown_tasks_doc,
             "unknown_tasks($self, /)\n--\n\n"
             "Return (lane, tid) of the tasks that events had so far and the list of tasks has not.\n\n"
             "Their numbers follow those of the list.");

static PyObject *unknown_tasks(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct calls_iterator *iterator = (struct calls_iterator *)self;

    if (iterator->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
        return NULL;
    }
    return fg_unknown_tasks(&iterator->names);
}

FG_ALONE(unknown_tasks)

static PyMethodDef calls_iterator_methods[] = {
    {"unknown_tasks", unknown_tasks_alone, METH_NOARGS, unknown_tasks_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot calls_iterator_slots[] = {
    {Py_tp_doc, "Iterator over batches of calls as columns. Made by Reader.calls()."},
    {Py_tp_dealloc, (void *)calls_iterator_dealloc},
    {Py_tp_iter, (void *)PyObject_SelfIter},
    {Py_tp_iternext, (void *)calls_iterator_next_alone},
    {Py_tp_methods, calls_iterator_methods},
    {0, NULL},
};

static PyType_Spec calls_iterator_spec = {
    .name = "funcgraph._tracedata.CallsIterator",
    .basicsize = sizeof(struct calls_iterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = calls_iterator_slots,
};

int fg_add_calls_types(PyObject *module)
{
    return fg_add_type(module, &calls_iterator_spec, &fg_tracedata_state(module)->calls_iterator_type);
}
