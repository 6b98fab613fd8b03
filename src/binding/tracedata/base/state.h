/* The state of the module funcgraph._tracedata, one per interpreter. */
#ifndef FG_BINDING_TRACEDATA_STATE_H
#define FG_BINDING_TRACEDATA_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* X(name): each type of the module, with a strong reference. */
#define FG_TRACEDATA_TYPES(X)                                                                                \
    X(recorder)                                                                                              \
    X(reader)                                                                                                \
    X(report_iterator)                                                                                       \
    X(column)                                                                                                \
    X(columns_iterator)                                                                                      \
    X(calls_iterator)                                                                                        \
    X(call_index)                                                                                            \
    X(follower)                                                                                              \
    X(slicer)                                                                                                \
    X(perfetto_encoder)

struct fg_tracedata_state {
#define X(name) PyTypeObject *name##_type;
    FG_TRACEDATA_TYPES(X)
#undef X
};

static inline struct fg_tracedata_state *fg_tracedata_state(PyObject *module)
{
    return (struct fg_tracedata_state *)PyModule_GetState(module);
}

#endif
