/* Replacing a C method by a function of ours that calls the original. The entry in the method table of
 * its type or module is replaced, which CPython reads at each call. */
#ifndef FG_CPYTHON_C_METHOD_H
#define FG_CPYTHON_C_METHOD_H

#include "arch/cpython/base/compat/python.h"

struct fg_c_method {
    PyMethodDef *method; /* NULL: not replaced */
    PyCFunction original, ours;
};

/* The entry of this name in a type's table, or NULL. */
PyMethodDef *fg_c_method_of(PyTypeObject *type, const char *name);
/* Replaces `method` (may be NULL) if its flags are exactly @flags. `ours` has the signature that the
 * flags imply. */
void fg_c_method_stand_before(struct fg_c_method *at, PyMethodDef *method, int flags, PyCFunction ours);
/* Restores the original; calls in progress continue. If somebody else has replaced our function, it
 * stays for good. */
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
