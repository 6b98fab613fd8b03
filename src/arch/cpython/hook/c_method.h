/* Standing before a method that is implemented in C: whoever calls it calls ours, which calls it. By its entry in the table of
 * its type or module, which CPython reads at each call. */
#ifndef FG_CPYTHON_C_METHOD_H
#define FG_CPYTHON_C_METHOD_H

#include "arch/cpython/base/compat/python.h"

struct fg_c_method {
    PyMethodDef *method; /* NULL: ours does not stand before it */
    PyCFunction original, ours;
};

/* An entry of a type's table; NULL: it has none of this name. */
PyMethodDef *fg_c_method_of(PyTypeObject *type, const char *name);
/* Only if it is called with exactly these flags; NULL is none. `ours` is of the kind that the flags say. */
void fg_c_method_stand_before(struct fg_c_method *at, PyMethodDef *method, int flags, PyCFunction ours);
/* Calls that are inside go on. If somebody stands before ours, who calls it, it stays for good. */
void fg_c_method_step_aside(struct fg_c_method *at);

/* ---- those of METH_FASTCALL */

typedef PyObject *(*fg_fast_method)(PyObject *self, PyObject *const *args, Py_ssize_t n);

static inline PyCFunction fg_fast_method_as_c(fg_fast_method method)
{
    return (PyCFunction)(void (*)(void))method;
}

static inline PyObject *fg_c_method_go_on_fast(const struct fg_c_method *at, PyObject *self,
                                               PyObject *const *args, Py_ssize_t n)
{
    return ((fg_fast_method)(void (*)(void))at->original)(self, args, n);
}

#endif
