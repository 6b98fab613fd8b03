/* A place that keeps one object for the next callback, so that the usual callback allocates nothing. A
 * callback that finds the place empty (because another thread or an outer callback took the object) makes
 * an object of its own. */
#ifndef FG_BINDING_SPARE_H
#define FG_BINDING_SPARE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>

#include "engine/base/compiler.h"

typedef _Atomic(void *) fg_spare;

/* Return: the object with its reference, or NULL: the place is empty. */
static inline void *fg_spare_take(fg_spare *spare)
{
#ifdef Py_GIL_DISABLED
    /* acquire: pairs with the release in fg_spare_put, by a thread that used the object before */
    return atomic_exchange_explicit(spare, NULL, memory_order_acquire);
#else
    void *object = atomic_load_explicit(spare, memory_order_relaxed);

    atomic_store_explicit(spare, NULL, memory_order_relaxed);
    return object;
#endif
}

/* Steals the reference to `object`, and drops it if the place is taken. */
static inline void fg_spare_put(fg_spare *spare, void *object)
{
    void *none = NULL;

#ifdef Py_GIL_DISABLED
    if (!atomic_compare_exchange_strong_explicit(spare, &none, object, memory_order_release,
                                                 memory_order_relaxed))
        Py_DECREF((PyObject *)object);
#else
    if (fg_likely(atomic_load_explicit(spare, memory_order_relaxed) == none))
        atomic_store_explicit(spare, object, memory_order_relaxed);
    else
        Py_DECREF((PyObject *)object);
#endif
}

#endif
