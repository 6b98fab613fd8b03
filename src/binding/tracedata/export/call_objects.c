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
    X(entry_payload, bytes_between(slices->data, slices->data_offsets, i))                                   \
    X(exit_payload, exit_payload(&batch->events, slices->event[i]))

enum {
#define X(name, value) FIELD_##name,
    CALL_FIELDS(X)
#undef X
        NR_FIELDS,
};

struct call_batch {
    PyObject *functions, *tasks, *ends; /* lists or tuples */
    struct fg_slices slices;
    struct fg_columns events;
};

static PyObject *item_or_none(PyObject *sequence, uint32_t index)
{
    if ((Py_ssize_t)index >= PySequence_Fast_GET_SIZE(sequence))
        Py_RETURN_NONE;
    return Py_NewRef(PySequence_Fast_GET_ITEM(sequence, (Py_ssize_t)index));
}

static PyObject *bytes_between(const uint8_t *data, const int32_t *offsets, size_t i)
{
    return PyBytes_FromStringAndSize((const char *)data + offsets[i], offsets[i + 1] - offsets[i]);
}

static PyObject *exit_payload(const struct fg_columns *events, uint32_t event)
{
    if (event >= events->n)
        return PyBytes_FromStringAndSize(NULL, 0);
    return bytes_between(events->data, events->data_offsets, event);
}

/* Sets the items of @values, a tuple that nobody else has. */
static bool set_fields(const struct call_batch *batch, size_t i, PyObject *values)
{
    const struct fg_slices *slices = &batch->slices;
    PyObject *value, *before;

#define X(name, new_value)                                                                                   \
    value = (new_value);                                                                                     \
    if (value == NULL)                                                                                       \
        return false;                                                                                        \
    before = PyTuple_GET_ITEM(values, FIELD_##name);                                                         \
    PyTuple_SET_ITEM(values, FIELD_##name, value);                                                           \
    Py_XDECREF(before);
    CALL_FIELDS(X)
#undef X
    return true;
}

/* A list of objects of @type, which is a tuple; they are made as tuple.__new__(type, values). */
static PyObject *make_calls(PyTypeObject *type, const struct call_batch *batch)
{
    PyObject *calls = PyList_New((Py_ssize_t)batch->slices.n), *values = PyTuple_New(NR_FIELDS);
    PyObject *arguments = values ? PyTuple_Pack(1, values) : NULL;
    bool is_made = calls && arguments;

    for (size_t i = 0; is_made && i < batch->slices.n; i++) {
        PyObject *call = set_fields(batch, i, values) ? PyTuple_Type.tp_new(type, arguments, NULL) : NULL;

        is_made = call != NULL;
        PyList_SET_ITEM(calls, (Py_ssize_t)i, call);
    }
    Py_XDECREF(arguments);
    Py_XDECREF(values);
    if (is_made)
        return calls;
    Py_XDECREF(calls);
    return NULL;
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
    struct call_batch batch;
    PyObject *type, *functions, *tasks, *ends, *slices, *columns, *calls = NULL;

    if (!PyArg_ParseTuple(args, "OOOOOO:call_objects", &type, &functions, &tasks, &ends, &slices, &columns) ||
        !is_tuple_type(type))
        return NULL;
    batch.functions = PySequence_Fast(functions, "functions must be a sequence");
    batch.tasks = PySequence_Fast(tasks, "tasks must be a sequence");
    batch.ends = PySequence_Fast(ends, "ends must be a sequence");
    if (batch.functions && batch.tasks && batch.ends && fg_take_slices(&slice_input, slices, &batch.slices) &&
        fg_take_columns(&event_input, columns, &batch.events))
        calls = make_calls((PyTypeObject *)type, &batch);
    fg_column_input_release(&slice_input);
    fg_column_input_release(&event_input);
    Py_XDECREF(batch.functions);
    Py_XDECREF(batch.tasks);
    Py_XDECREF(batch.ends);
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
