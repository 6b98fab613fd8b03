/* See state.h. */
#include "binding/core/state.h"

#include <stdatomic.h>

/* Each interpreter that imports the module stores the same pointer. */
static _Atomic(struct PyModuleDef *) module_def;

void fg_engine_set_def(struct PyModuleDef *def)
{
    atomic_store_explicit(&module_def, def, memory_order_relaxed);
}

PyObject *fg_engine_module_of(PyTypeObject *type)
{
    return PyType_GetModuleByDef(type, atomic_load_explicit(&module_def, memory_order_relaxed));
}

int fg_engine_check_open(const struct fg_engine_state *state, const char *what)
{
    if (!state->is_closing)
        return 0;
    PyErr_Format(PyExc_RuntimeError, "the interpreter is ending: %s", what);
    return -1;
}

int fg_engine_traverse(PyObject *module, visitproc visit, void *arg)
{
    struct fg_engine_state *state = fg_engine_state(module);

#define X(name) Py_VISIT(state->name##_type);
    FG_ENGINE_TYPES(X)
#undef X
    Py_VISIT(state->kprobes);
    return 0;
}

int fg_engine_clear(PyObject *module)
{
    struct fg_engine_state *state = fg_engine_state(module);

#define X(name) Py_CLEAR(state->name##_type);
    FG_ENGINE_TYPES(X)
#undef X
    Py_CLEAR(state->kprobes);
    return 0;
}
