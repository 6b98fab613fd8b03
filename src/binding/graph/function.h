/* Function: a function record as a Python object. */
#ifndef FG_BINDING_FUNCTION_H
#define FG_BINDING_FUNCTION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>

#include "binding/core/state.h"
#include "engine/core/function.h"

extern PyType_Spec fg_function_spec;

/* The one Function of a record. Return: a new reference, or NULL with an exception. */
PyObject *fg_function_of(struct fg_engine_state *state, struct fg_func *func);

/* The record of a Function, or NULL: the function is gone. */
struct fg_func *fg_function_record(PyObject *function);

/* The Function of a record, borrowed; NULL: nobody has asked for it yet. */
static inline PyObject *fg_function_known(struct fg_func *func)
{
    /* acquire: pairs with the exchange in fg_function_of, by another thread */
    return (PyObject *)atomic_load_explicit(&func->object, memory_order_acquire);
}

#endif
