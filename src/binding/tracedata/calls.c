/* See calls.h. */
#include "binding/tracedata/calls.h"

#include <stdlib.h>

#include "binding/base/critical_section.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/batches.h"

struct calls_iterator {
    struct fg_batches batches;
    struct fg_call_reader *calls;
};

/* ---- Reader.calls() */

static int start(struct fg_batches *batches)
{
    return fg_call_reader_new(&batches->merge, true, &((struct calls_iterator *)batches)->calls);
}

static int start_without_texts(struct fg_batches *batches)
{
    return fg_call_reader_new(&batches->merge, false, &((struct calls_iterator *)batches)->calls);
}

/* Has the iterator leave out all calls but some. Return: 0, or -1 with an exception. */
static int choose(PyObject *iterator, PyObject *numbers)
{
    Py_ssize_t n = PyTuple_GET_SIZE(numbers);
    uint64_t *chosen = malloc(((size_t)n + 1) * sizeof(*chosen));

    if (!chosen) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        chosen[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(numbers, i));
        if (PyErr_Occurred() || (i && chosen[i] <= chosen[i - 1])) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "numbers must ascend");
            free(chosen);
            return -1;
        }
    }
    fg_call_reader_choose(((struct calls_iterator *)iterator)->calls, chosen, (size_t)n);
    return 0;
}

PyObject *fg_reader_calls(PyObject *self, PyObject *args)
{
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(self));
    struct fg_batch_arguments arguments = {0};
    PyObject *numbers = NULL, *iterator;
    int has_texts = true;

    if (!PyArg_ParseTuple(args, "OO!pn|OpO!:calls", &arguments.functions, &PyList_Type, &arguments.tasks,
                          &arguments.select_unknown, &arguments.size, &arguments.selection, &has_texts,
                          &PyTuple_Type, &numbers))
        return NULL;
    iterator =
        fg_batches_new(state->calls_iterator_type, self, &arguments, has_texts ? start : start_without_texts);
    if (iterator && numbers && choose(iterator, numbers) < 0)
        Py_CLEAR(iterator);
    return iterator;
}

/* ---- CallsIterator */

static void calls_iterator_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    fg_call_reader_free(((struct calls_iterator *)self)->calls);
    fg_batches_clear((struct fg_batches *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *calls_iterator_next(PyObject *self)
{
    struct calls_iterator *iterator = (struct calls_iterator *)self;
    struct fg_call_columns columns = {0};
    int result;

    if (!fg_batches_begin(&iterator->batches))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    result = fg_call_reader_fill(iterator->calls, &columns, iterator->batches.size);
    Py_END_ALLOW_THREADS;
    fg_batches_end(&iterator->batches, result);
    if (columns.n)
        return fg_call_columns_tuple(PyType_GetModuleState(Py_TYPE(self)), &columns);
    fg_call_columns_free(&columns);
    return fg_batches_raise(&iterator->batches, result);
}

FG_BATCHES_ALONE(calls_iterator_next)

static PyType_Slot calls_iterator_slots[] = {
    {Py_tp_doc, "Iterator over batches of calls as columns. Made by Reader.calls()."},
    {Py_tp_dealloc, (void *)calls_iterator_dealloc},
    {Py_tp_iter, (void *)PyObject_SelfIter},
    {Py_tp_iternext, (void *)calls_iterator_next_alone},
    {Py_tp_methods, fg_batches_methods},
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
