/* Reference counts: taking and releasing references without checks that are known to pass, and
 * references to objects that may be dying. */
#ifndef FG_COMPAT_REFERENCE_H
#define FG_COMPAT_REFERENCE_H

#include "arch/cpython/base/compat/python.h"
#ifdef Py_GIL_DISABLED
#include "internal/pycore_object.h"
#endif

/* Takes a reference to an object that is known not to be immortal. CPython's own macros check that
 * first. */
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

/* Releases a reference to True, False or None: immortal from 3.12 on (PEP 683). */
static inline void fg_singleton_release(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)object;
#else
    Py_DECREF(object);
#endif
}

/* Takes a reference to an object that may be dying in another thread. Return: false if it is. The
 * caller makes sure that its memory is not freed, and that fg_object_share() was called on it once
 * while it lived. */
static inline bool fg_object_try_ref(PyObject *object)
{
#ifndef Py_GIL_DISABLED
    /* With the GIL: callbacks that are called while the object dies may run this. */
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
