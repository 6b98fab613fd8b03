/* Distinguishing CPython's calls of a signal handler from other calls of the same function.
 *
 * CPython passes two arguments (_PyErr_CheckSignalsTstate): the number of a signal whose handler the
 * function is, and the frame object of the interrupted code. Nobody else can pass that frame object
 * from C. Before 3.12 a call from Python cannot be distinguished from a call from C. There, a program that
 * calls its handler with its own frame is taken for CPython. */
#include "arch/cpython/hook/signals.h"

#include <signal.h>
#include <string.h>

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/hook/c_method.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/read/symbols.h"
#include "arch/cpython/read/variables.h"
#include "arch/cpython/value/attribute.h"
#include "engine/users/meet.h"

#define MAX_WRAPPERS 8 /* a partial of a method of ... */

static struct {
    PyObject *getsignal;       /* NULL: not watching */
    struct fg_c_method signal; /* _signal.signal */
    bool has_handlers;         /* some function is a handler, or was one */
} watch;

/* ---- which function a handler is */

/* The callable that @callable calls, one wrapper removed. NULL: it is a function itself, or the wrapper
 * is unknown. New reference. */
static PyObject *step_in(PyObject *callable)
{
    static const char call[] = "__call__";
    PyObject *inner, *name;

    if (fg_is_function(callable))
        return NULL;
    if (PyMethod_Check(callable))
        return Py_NewRef(PyMethod_GET_FUNCTION(callable));
    inner = fg_without_partial(callable);
    if (inner != callable)
        return inner;
    Py_DECREF(inner);
    name = PyUnicode_InternFromString(call);
    inner = name ? fg_type_lookup(Py_TYPE(callable), name) : NULL;
    Py_XDECREF(name);
    return inner;
}

/* The Python function that runs when the handler is called, or NULL. New reference. */
static PyObject *function_of(PyObject *handler)
{
    PyObject *at = Py_NewRef(handler);

    for (int i = 0; at && !fg_is_function(at); i++) {
        PyObject *inner = i < MAX_WRAPPERS ? step_in(at) : NULL;

        Py_SETREF(at, inner);
    }
    return at;
}

/* ---- becoming a handler */

/* If memory is short, the handler's calls are traced as ordinary calls. */
static void mark(struct fg_interp *interp, PyObject *handler)
{
    PyObject *function = function_of(handler);
    struct fg_func *func = function ? fg_symbols_func_of(interp, function) : NULL;

    if (func && fg_func_set_irq(func))
        watch.has_handlers = true;
    Py_XDECREF(function);
}

static PyObject *handler_of(int signum)
{
    PyObject *number = PyLong_FromLong(signum);
    PyObject *handler = number ? PyObject_CallOneArg(watch.getsignal, number) : NULL;

    Py_XDECREF(number);
    if (!handler)
        PyErr_Clear(); /* no signal has this number */
    return handler;
}

static void mark_all(struct fg_interp *interp)
{
    for (int signum = 1; signum < NSIG; signum++) {
        PyObject *handler = handler_of(signum);

        if (handler)
            mark(interp, handler);
        Py_XDECREF(handler);
    }
}

/* Marks the function before _signal.signal() installs it, because a signal may arrive right after. */
static PyObject *on_signal(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    struct fg_interp *interp = fg_interp_known();

    if (n == 2 && interp && interp->is_main && watch.getsignal) {
        fg_exception aside = fg_exception_set_aside();

        mark(interp, args[1]);
        PyErr_Clear();
        fg_exception_put_back(aside);
    }
    return fg_c_method_go_on_fast(&watch.signal, module, args, n);
}

void fg_signals_watch(void)
{
    fg_exception aside = fg_exception_set_aside();
    PyObject *module = fg_imported("_signal", strlen("_signal")); /* CPython imports it at start-up */
    PyObject *dict = module ? PyModule_GetDict(module) : NULL;
    PyObject *signal = dict ? fg_dict_get(dict, "signal") : NULL;

    watch.getsignal = dict ? fg_dict_get(dict, "getsignal") : NULL;
    if (watch.getsignal && PyCFunction_CheckExact(watch.getsignal)) {
        if (signal && PyCFunction_CheckExact(signal))
            fg_c_method_stand_before(&watch.signal, ((PyCFunctionObject *)signal)->m_ml, METH_FASTCALL,
                                     fg_fast_method_as_c(on_signal));
        mark_all(fg_interp_known());
    } else {
        Py_CLEAR(watch.getsignal);
    }
    Py_XDECREF(signal);
    Py_XDECREF(module);
    PyErr_Clear();
    fg_exception_put_back(aside);
}

void fg_signals_unwatch(void)
{
    fg_c_method_step_aside(&watch.signal);
    Py_CLEAR(watch.getsignal);
}

/* ---- recognizing a handler's call */

/* Positional argument n as passed; borrowed; NULL if fewer were passed. */
static PyObject *passed(fg_pyframe *frame, const PyCodeObject *code, Py_ssize_t n)
{
    PyObject *rest;

    if (n < code->co_argcount)
        return fg_pyframe_argument(frame, code, (int)n);
    rest = code->co_flags & CO_VARARGS
               ? fg_pyframe_argument(frame, code, code->co_argcount + code->co_kwonlyargcount)
               : NULL;
    n -= code->co_argcount;
    return rest && PyTuple_CheckExact(rest) && n < PyTuple_GET_SIZE(rest) ? PyTuple_GET_ITEM(rest, n) : NULL;
}

/* The signal number: the argument right before the interrupted frame's object. A partial's own
 * arguments and a method's `self` may precede it. Borrowed; NULL if there is no such pair. */
static PyObject *passed_number(fg_pyframe *frame, fg_pyframe *interrupted)
{
    const PyCodeObject *code = fg_pyframe_code(frame);
    PyObject *frame_argument = interrupted ? (PyObject *)interrupted->frame_obj : Py_None;
    PyObject *before = passed(frame, code, 0), *value = NULL;

    for (Py_ssize_t n = 1; before && (value = passed(frame, code, n)); n++, before = value) {
        if (value == frame_argument && PyLong_CheckExact(before))
            return before;
    }
    return NULL;
}

static bool is_handler_of(PyCodeObject *code, PyObject *signum)
{
    PyObject *handler = PyObject_CallOneArg(watch.getsignal, signum);
    PyObject *function = handler ? function_of(handler) : NULL;
    bool answer = function && PyFunction_GET_CODE(function) == (PyObject *)code;

    Py_XDECREF(function);
    Py_XDECREF(handler);
    return answer;
}

bool fg_signals_is_irq(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_frame(regs);
    fg_exception aside;
    PyObject *signum;
    bool answer;

    if (!frame || !watch.getsignal || !fg_is_main_thread() || !fg_pyframe_is_called_by_c(frame))
        return false;
    signum = passed_number(frame, fg_regs_caller(regs));
    if (!signum)
        return false;
    aside = fg_exception_set_aside();
    answer = is_handler_of(fg_pyframe_code(frame), signum);
    PyErr_Clear();
    fg_exception_put_back(aside);
    return answer;
}

/* ---- recognizing what a handler calls */

/* True if C code called the frame's function, and that function is a handler. Its arguments may have
 * changed since, so they are not looked at. */
static bool is_handlers(fg_pyframe *frame)
{
    const struct fg_func *func;

    if (!fg_pyframe_is_called_by_c(frame))
        return false;
    func = fg_code_func(fg_pyframe_code(frame));
    return func && func->irq;
}

/* Looks at the frames between the callback, which began in `scope->caller`, and this thread's newest. Before
 * 3.12 the frame of a call that begins is not linked to these yet. */
bool fg_signals_is_in_handler(const struct ftrace_regs *regs)
{
    const struct fg_callback_scope *scope = fg_callback_scope;
    fg_pyframe *called = regs ? regs->frame : NULL;

    if (!scope || fg_untraced || !watch.has_handlers || !fg_is_main_thread())
        return false;
    if (called && is_handlers(called))
        return true;
    for (fg_pyframe *at = fg_current_pyframe(fg_tstate()); at && at != scope->caller; at = at->previous) {
        if (fg_pyframe_has_begun(at) && is_handlers(at))
            return true;
    }
    return false;
}
