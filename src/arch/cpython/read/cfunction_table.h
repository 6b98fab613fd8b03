/* The table of an interpreter's C functions, and the lookup in it, for hooks that contain it. */
#ifndef FG_CPYTHON_CFUNCTION_TABLE_H
#define FG_CPYTHON_CFUNCTION_TABLE_H

#include "arch/cpython/base/compat/python.h"

#include <stdatomic.h>
#include <stddef.h>

#include "arch/cpython/base/interp.h"
#include "engine/base/hash_table.h"
#include "engine/core/function.h"

/* func is written before definition; after that neither changes. */
struct fg_c_function_slot {
    _Atomic(const PyMethodDef *) definition;
    struct fg_func *func;
};

/* Lookups take no lock. A table that has become too small is kept for lookups in progress. All old
 * tables together are smaller than the current one. */
struct fg_c_function_table {
    struct fg_c_function_table *older;
    size_t capacity; /* a power of two; some slots are free */
    struct fg_c_function_slot slots[];
};

struct fg_c_functions {
    _Atomic(struct fg_c_function_table *) current;
    size_t nr_records; /* records are added under FG_LOCK_DISCOVERY */
};

/* The definition of a callable of one of the types that nearly all C functions have; NULL: it is of another
 * one. */
static inline const PyMethodDef *fg_cfunction_plain_definition(PyObject *callable)
{
    if (Py_IS_TYPE(callable, &PyCFunction_Type) || Py_IS_TYPE(callable, &PyCMethod_Type))
        return ((PyCFunctionObject *)callable)->m_ml;
    return Py_IS_TYPE(callable, &PyMethodDescr_Type) ? ((PyMethodDescrObject *)callable)->d_method : NULL;
}

/* The record of a definition; NULL: no record yet. */
static inline struct fg_func *fg_cfunction_known(struct fg_interp *interp, const PyMethodDef *definition)
{
    /* acquire: pairs with the release in functions_of() */
    struct fg_c_functions *functions = atomic_load_explicit(&interp->c_functions, memory_order_acquire);
    /* acquire: pairs with the release in grow() */
    struct fg_c_function_table *table =
        functions ? atomic_load_explicit(&functions->current, memory_order_acquire) : NULL;

    for (size_t i = (size_t)fg_hash_pointer(definition); table; i++) {
        struct fg_c_function_slot *slot = &table->slots[i & (table->capacity - 1)];
        /* acquire: pairs with the release in add(); the slot's func is visible too */
        const PyMethodDef *there = atomic_load_explicit(&slot->definition, memory_order_acquire);

        if (there == definition)
            return slot->func;
        if (!there)
            break;
    }
    return NULL;
}

#endif
