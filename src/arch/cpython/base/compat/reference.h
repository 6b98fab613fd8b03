/* References: taken and released without asking what holds anyway, and to objects that may be dying. */
#ifndef FG_COMPAT_REFERENCE_H
#define FG_COMPAT_REFERENCE_H

#include "arch/cpython/base/compat/python.h"
#ifdef Py_GIL_DISABLED
#include "internal/pycore_object.h"
#endif

/* A reference that is held for a while, to an object that is not immortal for sure: CPython's own way
 * asks first. */
static inline void fg_object_hold(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    Py_INCREF(object);
#else
    object->ob_refcnt++;
#endif
}

static inline void fg_object_release(PyObject *object)
{
#ifdef Py_GIL_DISABLED
    Py_DECREF(object);
#else
    if (--object->ob_refcnt == 0)
        _Py_Dealloc(object);
#endif
}

/* A reference to True, False or None: immortal from 3.12 on (PEP 683). */
static inline void fg_singleton_release(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)object;
#else
    Py_DECREF(object);
#endif
}

/* A reference to an object that may be dying in another thread; false if it is. Its memory is still
 * there, and fg_object_share was called on it once while it lived. */
static inline bool fg_object_try_ref(PyObject *object)
{
#ifndef Py_GIL_DISABLED
    /* What is told of its death may run callbacks. */
    if (Py_REFCNT(object) == 0)
        return false;
    Py_INCREF(object);
    return true;
#elif PY_VERSION_HEX >= 0x030E0000
    return PyUnstable_TryIncRef(object);
#else
    return _Py_TryIncref(object);
#endif
}

static inline void fg_object_share(PyObject *object)
{
#ifndef Py_GIL_DISABLED
    (void)object;
#elif PY_VERSION_HEX >= 0x030E0000
    PyUnstable_EnableTryIncRef(object);
#else
    _PyObject_SetMaybeWeakref(object);
#endif
}

#endif
