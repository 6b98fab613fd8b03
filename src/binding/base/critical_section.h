/* Critical sections (PEP 703) on every CPython: a macro pair from 3.13 on, nothing before.
 *
 * With the GIL one thread at a time runs a method, except where the method releases the GIL. Without the
 * GIL the lock of the object gives the same guarantee: it too is released wherever its holder detaches
 * its thread state. */
#ifndef FG_BINDING_CRITICAL_SECTION_H
#define FG_BINDING_CRITICAL_SECTION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#ifndef Py_BEGIN_CRITICAL_SECTION
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Defines METHOD_alone, which runs METHOD in the critical section of its object. */
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

/* The same for a method with keywords. */
#define FG_ALONE_KEYWORDS(method)                                                                            \
    static PyObject *method##_alone(PyObject *self, PyObject *arguments, PyObject *keywords)                 \
    {                                                                                                        \
        PyObject *result;                                                                                    \
                                                                                                             \
        Py_BEGIN_CRITICAL_SECTION(self);                                                                     \
        result = method(self, arguments, keywords);                                                          \
        Py_END_CRITICAL_SECTION();                                                                           \
        return result;                                                                                       \
    }

#endif
