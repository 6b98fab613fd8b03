/* funcgraph._tracedata: writing and reading traces. Here is the definition of the module. */
#include "binding/base/raise.h"
#include "binding/base/slots.h"
#include "binding/tracedata/answers.h"
#include "binding/tracedata/base/column.h"
#include "binding/tracedata/base/state.h"
#include "binding/tracedata/call_index.h"
#include "binding/tracedata/call_parts.h"
#include "binding/tracedata/calls.h"
#include "binding/tracedata/columns.h"
#include "binding/tracedata/expect.h"
#include "binding/tracedata/export/call_objects.h"
#include "binding/tracedata/export/perfetto.h"
#include "binding/tracedata/export/slicer.h"
#include "binding/tracedata/follower.h"
#include "binding/tracedata/kernel.h"
#include "binding/tracedata/lockstep.h"
#include "binding/tracedata/python_codec.h"
#include "binding/tracedata/reader.h"
#include "binding/tracedata/run_table.h"
#include "binding/tracedata/selection.h"
#include "binding/tracedata/summary.h"
#include "binding/tracedata/write/convert.h"
#include "binding/tracedata/write/event_format.h"
#include "binding/tracedata/write/join.h"
#include "binding/tracedata/write/recorder.h"
#include "engine/ring/ring_layout.h"
#include "tracedata/base/file_io.h"
#include "tracedata/base/new_file.h"

static int replace(const char *path, const Py_buffer *data)
{
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    if (error < 0)
        return error;
    error = fg_file_write(file.fd, data->buf, (size_t)data->len, 0);
    if (error == 0)
        return fg_new_file_publish(&file);
    fg_new_file_discard(&file);
    return error;
}

PyDoc_STRVAR(replace_file_doc, "replace_file($module, path, data, /)\n--\n\n"
                               "Write a file that appears when it is whole, or not at all.");

static PyObject *replace_file(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path, *encoded = NULL;
    Py_buffer data;
    int error;

    if (!PyArg_ParseTuple(args, "Oy*:replace_file", &path, &data))
        return NULL;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        PyBuffer_Release(&data);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS;
    error = replace(PyBytes_AS_STRING(encoded), &data);
    Py_END_ALLOW_THREADS;
    PyBuffer_Release(&data);
    Py_DECREF(encoded);
    if (error < 0)
        return fg_raise_errno(error, path);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(ring_file_bytes_doc,
             "ring_file_bytes(buffer_bytes, /)\n--\n\n"
             "Return the size of the largest file that a ring buffer of so many bytes has.");

static PyObject *ring_file_bytes(PyObject *Py_UNUSED(module), PyObject *arg)
{
    unsigned long long bytes = PyLong_AsUnsignedLongLong(arg);

    if (bytes == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    if (bytes > UINT64_MAX / 2)
        return PyErr_Format(PyExc_OverflowError, "buffer_bytes is too large: %llu", bytes);
    return PyLong_FromUnsignedLongLong(fg_ring_file_bytes_max(bytes));
}

static PyMethodDef tracedata_functions[] = {
    {"replace_file", replace_file, METH_VARARGS, replace_file_doc},
    {"ring_file_bytes", ring_file_bytes, METH_O, ring_file_bytes_doc},
    {NULL, NULL, 0, NULL},
};

static int tracedata_exec(PyObject *module)
{
    if (fg_add_codec_functions(module) < 0 || fg_add_convert_functions(module) < 0 ||
        fg_add_join_functions(module) < 0 || fg_add_selection_functions(module) < 0 ||
        fg_add_recorder_types(module) < 0 || fg_add_kernel_names(module) < 0 ||
        fg_add_event_format(module) < 0)
        return -1;
    if (fg_add_column_types(module) < 0 || fg_add_columns_types(module) < 0 ||
        fg_add_calls_types(module) < 0 || fg_add_call_index_types(module) < 0 ||
        fg_add_run_table_names(module) < 0 || fg_add_follower_types(module) < 0 ||
        fg_add_tree_names(module) < 0 || fg_add_answer_names(module) < 0 ||
        fg_add_lockstep_names(module) < 0 || fg_add_call_parts_names(module) < 0 ||
        fg_add_expect_functions(module) < 0)
        return -1;
    if (fg_add_slicer_types(module) < 0 || fg_add_call_objects(module) < 0 ||
        fg_add_perfetto_types(module) < 0)
        return -1;
    return fg_add_reader_types(module);
}

static int tracedata_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct fg_tracedata_state *state = fg_tracedata_state(module);

    if (state == NULL)
        return 0;
#define X(name) Py_VISIT(state->name##_type);
    FG_TRACEDATA_TYPES(X)
#undef X
    return 0;
}

static int tracedata_clear(PyObject *module)
{
    struct fg_tracedata_state *state = fg_tracedata_state(module);

    if (state == NULL)
        return 0;
#define X(name) Py_CLEAR(state->name##_type);
    FG_TRACEDATA_TYPES(X)
#undef X
    return 0;
}

static void tracedata_free(void *module)
{
    tracedata_clear((PyObject *)module);
}

static PyModuleDef_Slot tracedata_slots[] = {
    {Py_mod_exec, (void *)tracedata_exec},
    FG_LAST_SLOTS,
};

static struct PyModuleDef tracedata_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._tracedata",
    .m_doc = "Traces: writing them while a program runs, and reading them.",
    .m_size = sizeof(struct fg_tracedata_state),
    .m_methods = tracedata_functions,
    .m_slots = tracedata_slots,
    .m_traverse = tracedata_traverse,
    .m_clear = tracedata_clear,
    .m_free = tracedata_free,
};

PyMODINIT_FUNC PyInit__tracedata(void)
{
    return PyModuleDef_Init(&tracedata_module);
}
