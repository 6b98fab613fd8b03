/* Replacing a method that is implemented in C by a function of ours, which calls the original. It is
 * replaced in the table of its type or module, which CPython reads at each call. */
#ifndef FG_CPYTHON_C_METHOD_H
#define FG_CPYTHON_C_METHOD_H

#include "arch/cpython/base/compat/python.h"

struct fg_c_method {
    PyMethodDef *method; /* NULL: not replaced */
    PyCFunction original, ours;
};

/* The entry of this name in a type's table, or NULL. */
PyMethodDef *fg_c_method_of(PyTypeObject *type, const char *name);
/* Replaces `method` (may be NULL), if its flags are exactly these. `ours` has the signature that they
 * mean. */
void fg_c_method_stand_before(struct fg_c_method *at, PyMethodDef *method, int flags, PyCFunction ours);
/* Puts the original back; calls in progress go on. If somebody else has replaced ours, ours stays for
 * good. */
void fg_c_method_step_aside(struct fg_c_method *at);

/* ---- methods with METH_FASTCALL */

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
