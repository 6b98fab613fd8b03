/* See call_objects.h. */
#include "binding/tracedata/export/call_objects.h"

#include "binding/base/sequences.h"
#include "binding/tracedata/base/column_input.h"

/* Of funcgraph.tracedata.calls.Call, in its order. X(name, a new reference; NULL: an exception). */
#define CALL_FIELDS(X)                                                                                       \
    X(function, item_or_none(batch->functions, slices->function[i]))                                         \
    X(task, item_or_none(batch->tasks, slices->task[i]))                                                     \
    X(begin_ns, PyLong_FromUnsignedLongLong(slices->call_ns[i]))                                             \
    X(end_ns, PyLong_FromUnsignedLongLong(slices->time_ns[i]))                                               \
    X(duration_ns, slices->flags[i] & FG_SLICE_WHOLE ? PyLong_FromUnsignedLongLong(slices->ran_ns[i])        \
                                                     : Py_NewRef(Py_None))                                   \
    X(depth, PyLong_FromUnsignedLong(slices->depth[i]))                                                      \
    X(ended, item_or_none(batch->ends, slices->what[i]))                                                     \
    X(parent, item_or_none(batch->functions, slices->parent[i]))                                             \
    X(resumes, PyLong_FromUnsignedLong(slices->resumes[i]))                                                  \
    X(irq, PyBool_FromLong(slices->flags[i] & FG_SLICE_IRQ))                                                 \
    X(caller, item_or_none(batch->functions, slices->caller[i]))                                             \
    X(caller_line, PyLong_FromUnsignedLong(slices->caller_line[i]))                                          \
    X(entry_payload, bytes_between(batch, slices->data, slices->data_offsets, i))                            \
    X(exit_payload, exit_payload(batch, slices->event[i]))

enum {
#define X(name, value) FIELD_##name,
    CALL_FIELDS(X)
#undef X
        NR_FIELDS,
};

struct call_batch {
    PyObject *functions, *tasks, *ends; /* lists or tuples */
    PyObject *values;                   /* a tuple of NR_FIELDS items */
    PyObject *nothing;                  /* no bytes */
    struct fg_slices slices;
    struct fg_columns events;
};

static PyObject *item_or_none(PyObject *sequence, uint32_t index)
{
    if ((Py_ssize_t)index >= PySequence_Fast_GET_SIZE(sequence))
        Py_RETURN_NONE;
    return Py_NewRef(PySequence_Fast_GET_ITEM(sequence, (Py_ssize_t)index));
}

static PyObject *bytes_between(const struct call_batch *batch, const uint8_t *data, const int32_t *offsets,
                               size_t i)
{
    if (offsets[i] == offsets[i + 1])
        return Py_NewRef(batch->nothing);
    return PyBytes_FromStringAndSize((const char *)data + offsets[i], offsets[i + 1] - offsets[i]);
}

static PyObject *exit_payload(const struct call_batch *batch, uint32_t event)
{
    const struct fg_columns *events = &batch->events;

    if (event >= events->n)
        return Py_NewRef(batch->nothing);
    return bytes_between(batch, events->data, events->data_offsets, event);
}

/* A new object of @type without items. CPython 3.14 has a tuple's hash between its size and its items: what
 * lies there is copied from a tuple that CPython made. The collector need not look at calls, of which it
 * would find all in use in each collection: nothing that they refer to refers back. */
static PyObject *new_call(PyTypeObject *type, const struct call_batch *batch)
{
    const size_t begin = sizeof(PyVarObject), end = offsetof(PyTupleObject, ob_item);
    PyObject *call = type->tp_alloc(type, NR_FIELDS);

    if (call == NULL)
        return NULL;
    if (PyType_IS_GC(type))
        PyObject_GC_UnTrack(call);
    memcpy((char *)call + begin, (char *)batch->values + begin, end - begin);
    return call;
}

static PyObject *make_call(PyTypeObject *type, const struct call_batch *batch, size_t i)
{
    const struct fg_slices *slices = &batch->slices;
    PyObject *call = new_call(type, batch), *value;

    if (call == NULL)
        return NULL;
#define X(name, new_value)                                                                                   \
    value = (new_value);                                                                                     \
    if (value == NULL) {                                                                                     \
        Py_DECREF(call);                                                                                     \
        return NULL;                                                                                         \
    }                                                                                                        \
    PyTuple_SET_ITEM(call, FIELD_##name, value);
    CALL_FIELDS(X)
#undef X
    return call;
}

/* A list of objects of @type, which is a tuple. */
static PyObject *make_calls(PyTypeObject *type, const struct call_batch *batch)
{
    PyObject *calls = PyList_New((Py_ssize_t)batch->slices.n);

    for (size_t i = 0; calls && i < batch->slices.n; i++) {
        PyObject *call = make_call(type, batch, i);

        if (call == NULL)
            Py_CLEAR(calls);
        else
            PyList_SET_ITEM(calls, (Py_ssize_t)i, call);
    }
    return calls;
}

static bool is_tuple_type(PyObject *type)
{
    if (PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        return true;
    PyErr_SetString(PyExc_TypeError, "type must be a type of tuples");
    return false;
}

PyDoc_STRVAR(call_objects_doc,
             "call_objects($module, type, functions, tasks, ends, slices, columns, /)\n--\n\n"
             "Return a list of an object for each slice, all of them ends of calls. See the type stub.");

static PyObject *call_objects(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_column_input slice_input = {0}, event_input = {0};
    struct call_batch batch = {0};
    PyObject *type, *functions, *tasks, *ends, *slices, *columns, *calls = NULL;

    if (!PyArg_ParseTuple(args, "OOOOOO:call_objects", &type, &functions, &tasks, &ends, &slices, &columns) ||
        !is_tuple_type(type))
        return NULL;
    batch.functions = PySequence_Fast(functions, "functions must be a sequence");
    batch.tasks = PySequence_Fast(tasks, "tasks must be a sequence");
    batch.ends = PySequence_Fast(ends, "ends must be a sequence");
    batch.values = PyTuple_New(NR_FIELDS);
    batch.nothing = PyBytes_FromStringAndSize(NULL, 0);
    if (batch.functions && batch.tasks && batch.ends && batch.values && batch.nothing &&
        fg_take_slices(&slice_input, slices, &batch.slices) &&
        fg_take_columns(&event_input, columns, &batch.events))
        calls = make_calls((PyTypeObject *)type, &batch);
    fg_column_input_release(&slice_input);
    fg_column_input_release(&event_input);
    Py_XDECREF(batch.functions);
    Py_XDECREF(batch.tasks);
    Py_XDECREF(batch.ends);
    Py_XDECREF(batch.values);
    Py_XDECREF(batch.nothing);
    return calls;
}

int fg_add_call_objects(PyObject *module)
{
    static PyMethodDef functions[] = {
        {"call_objects", call_objects, METH_VARARGS, call_objects_doc},
        {NULL, NULL, 0, NULL},
    };

    return PyModule_AddFunctions(module, functions);
}
