/* The exception that is set in a thread. */
#ifndef FG_COMPAT_EXCEPTION_H
#define FG_COMPAT_EXCEPTION_H

#include "arch/cpython/base/compat/python.h"

/* Saves the exception that is set, and restores it after code that may raise. */
#if PY_VERSION_HEX >= 0x030C0000
typedef PyObject *fg_exception;

static inline fg_exception fg_exception_set_aside(void)
{
    return PyErr_GetRaisedException();
}

static inline void fg_exception_put_back(fg_exception exception)
{
    PyErr_SetRaisedException(exception);
}
#else
typedef struct {
    PyObject *type, *value, *traceback;
} fg_exception;

static inline fg_exception fg_exception_set_aside(void)
{
    fg_exception exception;

    PyErr_Fetch(&exception.type, &exception.value, &exception.traceback);
    return exception;
}

static inline void fg_exception_put_back(fg_exception exception)
{
    PyErr_Restore(exception.type, exception.value, exception.traceback);
}
#endif

static inline bool fg_exception_is_set(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030C0000
    return tstate->current_exception;
#else
    return tstate->curexc_type;
#endif
}

/* What an exception of @class will be made of that is set, and is no instance yet: NULL or None, a tuple of
 * arguments, or the only argument (PyErr_NormalizeException()). From 3.12 on it is always an instance.
 * Return: false: no such exception is set. */
static inline bool fg_exception_is_unmade(PyObject *class, PyObject **arguments)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)class, (void)arguments;
    return false;
#else
    const PyThreadState *tstate = PyThreadState_Get();

    *arguments = tstate->curexc_value;
    return tstate->curexc_type == class;
#endif
}

/* Clears the exception that is set, and returns it as one object with its traceback. New reference. */
static inline PyObject *fg_exception_take(void)
{
#if PY_VERSION_HEX >= 0x030C0000
    return PyErr_GetRaisedException();
#else
    PyObject *type, *value, *traceback;

    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (traceback)
        PyException_SetTraceback(value, traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    return value;
#endif
}

/* Sets @exception. Steals the reference. */
static inline void fg_exception_raise(PyObject *exception)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyErr_SetRaisedException(exception);
#else
    PyErr_Restore(Py_NewRef(Py_TYPE(exception)), exception, PyException_GetTraceback(exception));
#endif
}

#endif
