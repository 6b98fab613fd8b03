/* funcgraph._plan: what plans of native functions need of C. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/base/slots.h"
#include "engine/base/hash_table.h"

PyDoc_STRVAR(checksum_doc, "checksum($module, data, /)\n--\n\n"
                           "Return the checksum of a plan's tables: FNV-1a with 64 bits.");

static PyObject *plan_checksum(PyObject *Py_UNUSED(module), PyObject *data)
{
    Py_buffer view;
    uint64_t hash;

    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) != 0)
        return NULL;
    hash = fg_hash_bytes(FG_HASH_BYTES_BEGIN, view.buf, (size_t)view.len);
    PyBuffer_Release(&view);
    return PyLong_FromUnsignedLongLong(hash);
}

static PyMethodDef plan_methods[] = {
    {"checksum", plan_checksum, METH_O, checksum_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot plan_slots[] = {
    FG_LAST_SLOTS,
};

static struct PyModuleDef plan_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._plan",
    .m_doc = "What plans of native functions need of C.",
    .m_methods = plan_methods,
    .m_slots = plan_slots,
};

PyMODINIT_FUNC PyInit__plan(void)
{
    return PyModuleDef_Init(&plan_module);
}
