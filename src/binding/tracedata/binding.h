/* What the parts of the extension module funcgraph._tracedata share. Each part adds its types to the module
 * and keeps those it needs later in the module's state. */
#ifndef FG_TRACEDATA_BINDING_H
#define FG_TRACEDATA_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The module's state: strong references, cleared by tracedata_module.c. A part that adds a type which it
 * must find again (an iterator that a method returns) names it here; every member is in this table. */
#define FG_TRACEDATA_TYPES(X)                                                                                \
    X(recorder)                                                                                              \
    X(reader)                                                                                                \
    X(report_iterator)

struct fg_tracedata_state {
#define X(name) PyTypeObject *name##_type;
    FG_TRACEDATA_TYPES(X)
#undef X
};

/* Add a part's types: 0, or -1 with an exception set. */
int fg_add_recorder_types(PyObject *module);
int fg_add_reader_types(PyObject *module);

/* With the GIL one thread at a time is in a method, but for where it gives the GIL away. Without it the object's own
 * lock sees to the same: it too is let go of where a thread lets go of its thread state. */
#ifndef Py_BEGIN_CRITICAL_SECTION /* a macro from 3.13 on */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Defines METHOD_alone, which is METHOD under its object's lock. */
#define FG_ALONE(method)                                                                                     \
    static PyObject *method##_alone(PyObject *self, PyObject *argument)                                      \
    {                                                                                                        \
        PyObject *result;                                                                                    \
                                                                                                             \
        Py_BEGIN_CRITICAL_SECTION(self);                                                                     \
        result = method(self, argument);                                                                     \
        Py_END_CRITICAL_SECTION();                                                                           \
        return result;                                                                                       \
    }

static inline struct fg_tracedata_state *fg_tracedata_state(PyObject *module)
{
    return (struct fg_tracedata_state *)PyModule_GetState(module);
}

#endif
