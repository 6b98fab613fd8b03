/* Exceptions that Python callbacks raise: whether an exception is the callback's or the program's, and
 * how each is reported. */
#include "binding/core/error.h"

#include <errno.h>
#include <signal.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/thread.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "engine/core/root.h"

/* ---- the program's exceptions
 *
 * CPython runs signal handlers between two instructions of the Python code that the main thread runs,
 * which may be a callback. An exception that such a handler raises is meant for the program. */

/* signal.getsignal(number). A new reference, or NULL without an exception. */
static PyObject *handler_of(PyObject *module, int number)
{
    PyObject *handler = PyObject_CallMethod(module, "getsignal", "i", number);

    if (!handler)
        PyErr_Clear();
    return handler;
}

/* The code object that runs when `callable` is called, borrowed from it; NULL if that is no Python code. */
static PyObject *code_of(PyObject *callable)
{
    PyObject *function = PyMethod_Check(callable) ? PyMethod_GET_FUNCTION(callable) : callable;

    if (!PyFunction_Check(function)) {
        PyObject *call = PyObject_GetAttrString((PyObject *)Py_TYPE(callable), "__call__");

        PyErr_Clear();
        function = call && PyFunction_Check(call) ? call : NULL;
        Py_XDECREF(call); /* the type keeps it */
    }
    return function ? PyFunction_GET_CODE(function) : NULL;
}

static bool is_handler_code(PyObject *module, PyObject *code)
{
    bool found = false;

    for (int number = 1; number < NSIG && !found; number++) {
        PyObject *handler = handler_of(module, number);

        found = handler && code_of(handler) == code;
        Py_XDECREF(handler);
    }
    return found;
}

/* The part of the traceback that begins in a signal handler, borrowed; or NULL. */
static PyObject *handler_traceback(PyObject *module, PyObject *traceback)
{
    for (; traceback; traceback = (PyObject *)((PyTracebackObject *)traceback)->tb_next) {
        PyCodeObject *code = PyFrame_GetCode(((PyTracebackObject *)traceback)->tb_frame);
        bool is_handler = is_handler_code(module, (PyObject *)code);

        Py_DECREF(code);
        if (is_handler)
            return traceback;
    }
    return NULL;
}

/* Whether signal.default_int_handler raised it: that is C code, and leaves no traceback entry. */
static bool is_interrupt(PyObject *module, PyObject *exception)
{
    PyObject *handler, *by_default;
    bool is_default;

    if (!PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt))
        return false;
    handler = handler_of(module, SIGINT);
    by_default = PyObject_GetAttrString(module, "default_int_handler");
    PyErr_Clear();
    is_default = handler && handler == by_default;
    Py_XDECREF(handler);
    Py_XDECREF(by_default);
    return is_default;
}

/* Return: whether the exception is the program's. If so, the frames of the callback are removed from its
 * traceback. */
static bool claim_for_program(PyObject *exception)
{
    PyObject *module = fg_is_main_thread() ? PyImport_ImportModule("_signal") : NULL;
    PyObject *traceback = module ? PyException_GetTraceback(exception) : NULL;
    PyObject *own = traceback ? handler_traceback(module, traceback) : NULL;
    bool is_programs = own || (module && is_interrupt(module, exception));

    PyErr_Clear();
    if (is_programs)
        PyException_SetTraceback(exception, own ? own : Py_None);
    Py_XDECREF(traceback);
    Py_XDECREF(module);
    return is_programs;
}

static int raise_in_program(void *exception)
{
    fg_exception_raise(exception);
    return -1;
}

/* ---- the callback's exceptions */

static void keep_error(PyObject *owner, PyObject **last_error, PyObject *exception)
{
    PyObject *old;

    (void)owner; /* unused where critical sections are nothing */
    Py_BEGIN_CRITICAL_SECTION(owner);
    old = *last_error;
    *last_error = Py_NewRef(exception);
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(old);
}

bool fg_error_report(PyObject *owner, PyObject *function, PyObject **last_error, _Atomic uint64_t *errors)
{
    PyObject *exception = fg_exception_take();

    /* A pending call runs between two instructions of the program, as signal handlers do. */
    if (claim_for_program(exception) && Py_AddPendingCall(raise_in_program, exception) == 0)
        return false;
    atomic_fetch_add_explicit(errors, 1, memory_order_relaxed);
    keep_error(owner, last_error, exception);
    fg_exception_raise(exception);
    PyErr_WriteUnraisable(function);
    return true;
}

PyObject *fg_raise_killed(void)
{
    return fg_raise_os_error(ENODEV, PyUnicode_FromFormat("tracing is off for good: %s", fg_killed()));
}
