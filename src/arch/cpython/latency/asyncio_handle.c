/* See asyncio_handle.h. */
#include "arch/cpython/latency/asyncio_handle.h"

#include <stdatomic.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"
#include "engine/base/compiler.h"

/* The types met so far, with one reference each. Types beyond MAX_TYPES are looked up at each use. */
#define MAX_TYPES 8u

static struct {
    _Atomic(PyTypeObject *) type;
    struct fg_handle_slots slots;
} types[MAX_TYPES];

static _Atomic unsigned holds;
static _Atomic unsigned nr_types; /* slots claimed; the claimer may not have stored its type yet */

static Py_ssize_t offset_of(PyTypeObject *type, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *descriptor = key ? fg_type_lookup(type, key) : NULL;
    Py_ssize_t offset = 0;

    if (descriptor && Py_IS_TYPE(descriptor, &PyMemberDescr_Type))
        offset = ((PyMemberDescrObject *)descriptor)->d_member->offset;
    Py_XDECREF(key);
    Py_XDECREF(descriptor);
    PyErr_Clear();
    return offset;
}

FG_COLD static struct fg_handle_slots meet(PyTypeObject *type)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_handle_slots slots = {offset_of(type, "_callback"), offset_of(type, "_when")};
    unsigned place = atomic_load(&nr_types);

    fg_exception_put_back(aside);
    if (place < MAX_TYPES && atomic_compare_exchange_strong(&nr_types, &place, place + 1)) {
        types[place].slots = slots;
        Py_INCREF(type);
        /* release: fg_handle_slots in another thread reads the type, then its slots */
        atomic_store_explicit(&types[place].type, type, memory_order_release);
    }
    return slots;
}

struct fg_handle_slots fg_handle_slots(PyTypeObject *type)
{
    for (unsigned i = 0; i < MAX_TYPES; i++) {
        PyTypeObject *known = atomic_load_explicit(&types[i].type, memory_order_acquire);

        if (fg_likely(known == type))
            return types[i].slots;
        if (!known)
            break;
    }
    return meet(type);
}

void fg_handle_types_hold(void)
{
    atomic_fetch_add(&holds, 1);
}

void fg_handle_types_release(void)
{
    if (atomic_fetch_sub(&holds, 1) != 1)
        return;
    for (unsigned i = 0; i < MAX_TYPES; i++)
        Py_XDECREF((PyObject *)atomic_exchange(&types[i].type, NULL));
    atomic_store(&nr_types, 0);
}
