/* When a user's Python function raises: whose exception it is, and what becomes of the user. And what is raised to the
 * caller of a function of ours. */
#include "binding/core/error.h"

#include <signal.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/thread.h"
#include "binding/base/critical_section.h"

/* ---- the program's exceptions
 *
 * CPython runs signal handlers between two instructions of whatever Python code runs in the main thread: of a callback
 * too. What a handler raises there is meant for the program. */

/* signal.getsignal(number). New reference, or NULL without an exception. */
static PyObject *handler_of(PyObject *module, int number)
{
    PyObject *handler = PyObject_CallMethod(module, "getsignal", "i", number);

    if (!handler)
        PyErr_Clear();
    return handler;
}

/* The code that runs when `callable` is called; NULL: none of Python's, as far as can be seen. Borrowed from it. */
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
    bool is = false;

    for (int number = 1; number < NSIG && !is; number++) {
        PyObject *handler = handler_of(module, number);

        is = handler && code_of(handler) == code;
        Py_XDECREF(handler);
    }
    return is;
}

/* The part of the traceback that begins in a signal handler, or NULL. Borrowed. */
static PyObject *handler_traceback(PyObject *module, PyObject *traceback)
{
    for (; traceback; traceback = (PyObject *)((PyTracebackObject *)traceback)->tb_next) {
        PyCodeObject *code = PyFrame_GetCode(((PyTracebackObject *)traceback)->tb_frame);
        bool is = is_handler_code(module, (PyObject *)code);

        Py_DECREF(code);
        if (is)
            return traceback;
    }
    return NULL;
}

/* Raised by signal.default_int_handler, which is no Python code and leaves no trace. */
static bool is_interrupt(PyObject *module, PyObject *exception)
{
    PyObject *handler, *by_default;
    bool is;

    if (!PyErr_GivenExceptionMatches(exception, PyExc_KeyboardInterrupt))
        return false;
    handler = handler_of(module, SIGINT);
    by_default = PyObject_GetAttrString(module, "default_int_handler");
    PyErr_Clear();
    is = handler && handler == by_default;
    Py_XDECREF(handler);
    Py_XDECREF(by_default);
    return is;
}

/* True for an exception of the program's; the frames of the callback are taken out of its traceback. */
static bool is_programs(PyObject *exception)
{
    PyObject *module = fg_is_main_thread() ? PyImport_ImportModule("_signal") : NULL;
    PyObject *traceback = module ? PyException_GetTraceback(exception) : NULL;
    PyObject *own = traceback ? handler_traceback(module, traceback) : NULL;
    bool is = own || (module && is_interrupt(module, exception));

    PyErr_Clear();
    if (is)
        PyException_SetTraceback(exception, own ? own : Py_None);
    Py_XDECREF(traceback);
    Py_XDECREF(module);
    return is;
}

static int raise_in_program(void *exception)
{
    fg_exception_raise(exception);
    return -1;
}

/* ---- the user's exceptions */

static void keep_error(PyObject *owner, PyObject **last_error, PyObject *exception)
{
    PyObject *old;

    (void)owner; /* of no use without critical sections */
    Py_BEGIN_CRITICAL_SECTION(owner);
    old = *last_error;
    *last_error = Py_NewRef(exception);
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(old);
}

bool fg_error_report(PyObject *owner, PyObject *function, PyObject **last_error, _Atomic uint64_t *errors)
{
    PyObject *exception = fg_exception_take();

    /* CPython hands it over between two of the program's instructions, as it does with the handlers themselves. */
    if (is_programs(exception) && Py_AddPendingCall(raise_in_program, exception) == 0)
        return false;
    atomic_fetch_add_explicit(errors, 1, memory_order_relaxed);
    keep_error(owner, last_error, exception);
    fg_exception_raise(exception);
    PyErr_WriteUnraisable(function);
    return true;
}
