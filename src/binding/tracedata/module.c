/* funcgraph._tracedata: writing and reading traces. Here is the definition of the module. */
#include "binding/tracedata/reader.h"
#include "binding/tracedata/recorder.h"
#include "binding/tracedata/state.h"

static int tracedata_exec(PyObject *module)
{
    if (fg_add_recorder_types(module) < 0)
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
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef tracedata_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._tracedata",
    .m_doc = "Traces: writing them while a program runs, and reading them.",
    .m_size = sizeof(struct fg_tracedata_state),
    .m_slots = tracedata_slots,
    .m_traverse = tracedata_traverse,
    .m_clear = tracedata_clear,
    .m_free = tracedata_free,
};

PyMODINIT_FUNC PyInit__tracedata(void)
{
    return PyModuleDef_Init(&tracedata_module);
}
