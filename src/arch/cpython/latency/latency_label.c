/* Naming what latency tracers found: functions, callables, asyncio's handles. Only instances of
 * CPython's own C types are inspected, so no code of the program runs. Labels are made rarely, and
 * making one may allocate. */
#include "arch/cpython/latency/latency_label.h"

#include <stdio.h>
#include <string.h>

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/generator.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/value/attribute.h"
#include "arch/cpython/value/utf8.h"

#define MAX_AWAITED 32 /* length of a chain of awaiting coroutines */

static const char *text_of(PyObject *str)
{
    const char *text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : NULL;

    if (!text)
        PyErr_Clear();
    return text ? text : "?";
}

static void put(char *out, const char *text)
{
    snprintf(out, FG_LATENCY_TEXT_BYTES, "%s", text);
}

void fg_label_code(PyCodeObject *code, PyObject *globals, int line, char *out)
{
    PyObject *module = fg_code_module(globals);
    const struct fg_func *func = fg_code_func(code);
    const char *known = func ? func->module : "";
    const char *name = module ? text_of(module) : known;

    snprintf(out, FG_LATENCY_TEXT_BYTES, "%s%s%s (%s:%d)", name, *name ? "." : "", text_of(code->co_qualname),
             text_of(code->co_filename), line ? line : code->co_firstlineno);
    Py_XDECREF(module);
}

bool fg_label_thread(PyThreadState *tstate, char *out)
{
    fg_pyframe *frame = fg_complete_pyframe(fg_current_pyframe(tstate));
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;
    const struct fg_func *func = code ? fg_code_func(code) : NULL;
    size_t n, room = FG_LATENCY_TEXT_BYTES;

    if (!code)
        return false;
    n = func ? (size_t)snprintf(out, room / 2, "%s", func->name)
             : fg_utf8_copy(code->co_qualname, out, room / 2);
    n = n < room / 2 ? n : room / 2 - 1;
    n += (size_t)snprintf(out + n, room - n, " (");
    n += fg_utf8_copy(code->co_filename, out + n, room - n - sizeof(":2147483647)"));
    snprintf(out + n, room - n, ":%d)", fg_pyframe_line(frame));
    return true;
}

static void label_function(PyObject *function, char *out)
{
    fg_label_code((PyCodeObject *)PyFunction_GET_CODE(function), PyFunction_GET_GLOBALS(function), 0, out);
}

static void label_builtin(PyObject *builtin, char *out)
{
    PyObject *module = ((PyCFunctionObject *)builtin)->m_module;
    const PyObject *self = PyCFunction_GET_SELF(builtin);
    const char *owner = self && !PyModule_Check(self) ? Py_TYPE(self)->tp_name : NULL;

    if (!owner)
        owner = module && PyUnicode_Check(module) ? text_of(module) : "builtins";
    snprintf(out, FG_LATENCY_TEXT_BYTES, "%s.%s (C)", owner, ((PyCFunctionObject *)builtin)->m_ml->ml_name);
}

void fg_label_callable(PyObject *callable, char *out)
{
    callable = fg_without_partial(callable);
    if (PyMethod_Check(callable) && fg_is_function(PyMethod_GET_FUNCTION(callable)))
        label_function(PyMethod_GET_FUNCTION(callable), out);
    else if (fg_is_function(callable))
        label_function(callable, out);
    else if (PyCFunction_Check(callable))
        label_builtin(callable, out);
    else
        put(out, Py_TYPE(callable)->tp_name);
    Py_DECREF(callable);
}

/* The coroutine of the asyncio task whose step this callable is, or NULL. New reference. asyncio's
 * tasks are written in C, and the task is the `__self__` of its step. */
static PyObject *coroutine_of(PyObject *callable)
{
    PyObject *task = PyCFunction_Check(callable) ? Py_XNewRef(PyCFunction_GET_SELF(callable))
                                                 : fg_c_attribute(callable, "__self__");
    PyObject *coroutine = task ? fg_c_attribute(task, "_coro") : NULL;

    Py_XDECREF(task);
    return coroutine;
}

static bool is_coroutine(PyObject *object)
{
    return PyCoro_CheckExact(object) || PyGen_CheckExact(object);
}

/* Labels a coroutine or generator: its function in @runs, and where it is suspended in @is_at. Either
 * may be NULL. */
static void label_coroutine(PyObject *coroutine, char *runs, char *is_at)
{
    PyGenObject *generator = (PyGenObject *)coroutine;
    PyCodeObject *code = fg_generator_code(generator);
    fg_pyframe *frame = fg_generator_frame(generator);
    bool has_ended = fg_generator_has_ended(coroutine);

    if (runs)
        fg_label_code(code, has_ended ? NULL : frame->f_globals, 0, runs);
    if (has_ended && is_at)
        put(is_at, "its end");
    else if (is_at)
        fg_label_code(code, frame->f_globals, fg_pyframe_line(frame), is_at);
    Py_DECREF(code);
}

/* The coroutine that @coroutine awaits. New reference; NULL: it awaits no coroutine. */
static PyObject *awaited_by(PyObject *coroutine)
{
    PyObject *awaited = fg_c_attribute(coroutine, PyCoro_CheckExact(coroutine) ? "cr_await" : "gi_yieldfrom");

    if (awaited && !is_coroutine(awaited))
        Py_CLEAR(awaited);
    return awaited;
}

static void label_awaited(PyObject *coroutine, const struct fg_label_awaited *awaited)
{
    char is_at[FG_LATENCY_TEXT_BYTES];
    PyObject *at = Py_NewRef(coroutine);

    for (int i = 0; at && i < MAX_AWAITED; i++) {
        Py_SETREF(at, awaited_by(at));
        if (!at)
            break;
        label_coroutine(at, NULL, is_at);
        awaited->add(awaited->arg, is_at);
    }
    Py_XDECREF(at);
}

static void label(PyObject *callback, char *runs, char *is_at, const struct fg_label_awaited *awaited)
{
    PyObject *coroutine = coroutine_of(callback);

    if (coroutine && is_coroutine(coroutine)) {
        label_coroutine(coroutine, runs, is_at);
        if (awaited)
            label_awaited(coroutine, awaited);
    } else {
        fg_label_callable(coroutine ? coroutine : callback, runs);
        if (is_at)
            put(is_at, runs);
    }
    Py_XDECREF(coroutine);
}

void fg_label_callback(PyObject *callback, char *runs, char *is_at, const struct fg_label_awaited *awaited)
{
    fg_exception aside = fg_exception_set_aside();

    label(callback, runs, is_at, awaited);
    fg_exception_put_back(aside);
}
