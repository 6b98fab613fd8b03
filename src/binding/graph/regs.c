/* FtraceRegs. Reading it runs none of the program's code. */
#include "binding/graph/regs.h"

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/read/variables.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"
#include "binding/graph/pt_regs.h"
#include "binding/graph/regs_parts.h"

/* ---- the callback */

static inline bool saves_regs(const struct fg_callback *callback)
{
    return callback->self->save_regs;
}

/* The frame of the call, or NULL with RuntimeError. */
static fg_pyframe *frame_of(const struct fg_callback *callback)
{
    fg_pyframe *frame = fg_regs_frame(callback->regs);

    if (!frame && fg_regs_is_c(callback->regs))
        PyErr_Format(PyExc_RuntimeError, "%s() is a C function: its calls have no frame",
                     callback->func->name);
    else if (!frame)
        PyErr_Format(PyExc_RuntimeError,
                     "the frame of this call of %s() is gone: CPython did not report the call's end",
                     callback->func->name);
    return frame;
}

static fg_pyframe *live_frame(PyObject *self, const struct fg_callback **callback)
{
    *callback = fg_regs_live(self);
    return *callback ? frame_of(*callback) : NULL;
}

/* ---- names and numbers */

/* The index of a variable among the first `n` of a code object; -1 if there is none, or with an exception. */
static int variable(PyCodeObject *code, int n, PyObject *name)
{
    Py_ssize_t bytes;
    const char *text = PyUnicode_AsUTF8AndSize(name, &bytes);

    if (text) /* no name has a zero byte */
        return strlen(text) == (size_t)bytes ? fg_code_variable(code, n, text) : -1;
    if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) /* no name has a lone surrogate */
        PyErr_Clear();
    return -1;
}

/* The number if it is in 0 to INT_MAX, else -1. */
static int index_of(PyObject *number)
{
    int overflow;
    long n = PyLong_AsLongAndOverflow(number, &overflow);

    return overflow || n < 0 || n > INT_MAX ? -1 : (int)n;
}

/* ---- arguments */

static bool check_entry(const struct fg_callback *callback)
{
    if (!callback->is_entry)
        PyErr_SetString(PyExc_RuntimeError, "arguments can be read at the entry only: at the return the "
                                            "function's variables may have other values");
    return callback->is_entry;
}

/* The index of an argument, or -1 with an exception. */
static int number_of(PyCodeObject *code, PyObject *which)
{
    int count = fg_code_argument_count(code), n = -1;

    if (PyUnicode_Check(which)) {
        n = variable(code, count, which);
        if (n < 0 && !PyErr_Occurred())
            PyErr_Format(PyExc_KeyError, "%U() has no argument '%U'", code->co_qualname, which);
    } else if (PyLong_Check(which)) {
        n = index_of(which);
        if (n < 0 || n >= count)
            n = (PyErr_Format(PyExc_IndexError, "%U() has %d arguments, got number %S", code->co_qualname,
                              count, which),
                 -1);
    } else {
        fg_raise_type("which", "the number or name of an argument", which);
    }
    return n;
}

/* An unbound argument raises KeyError. */
static PyObject *python_argument(const struct fg_callback *callback, PyCodeObject *code, PyObject *which)
{
    int n = number_of(code, which);
    PyObject *value = n >= 0 ? Py_XNewRef(fg_regs_argument(callback->regs, (unsigned)n)) : NULL;

    if (n >= 0 && !value)
        PyErr_Format(PyExc_KeyError, "argument '%U' is unbound",
                     PyTuple_GET_ITEM(code->co_localsplusnames, n));
    return value;
}

/* CPython reports at most the first argument, and no names. */
static PyObject *c_argument(const struct fg_callback *callback, PyObject *which)
{
    const char *name = callback->func->name;
    PyObject *value = NULL;

    if (PyUnicode_Check(which))
        return PyErr_Format(PyExc_KeyError, "%s() is a C function: its arguments have no names", name);
    if (!PyLong_Check(which))
        return fg_raise_type("which", "the number of an argument", which);
    if (index_of(which) == 0)
        value = Py_XNewRef(fg_regs_argument(callback->regs, 0));
    if (!value)
        PyErr_Format(PyExc_IndexError, "CPython did not report argument %S of the C function %s()", which,
                     name);
    return value;
}

static PyObject *get_argument(PyObject *self, PyObject *which)
{
    const struct fg_callback *callback = fg_regs_live(self);
    fg_pyframe *frame;

    if (!callback || !check_entry(callback))
        return NULL;
    if (fg_unlikely(fg_regs_is_c(callback->regs)))
        return c_argument(callback, which);
    frame = frame_of(callback);
    return frame ? python_argument(callback, fg_pyframe_code(frame), which) : NULL;
}

static PyObject *arguments(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);

    if (!callback || !check_entry(callback))
        return NULL;
    if (fg_regs_is_c(callback->regs))
        return PyErr_Format(PyExc_RuntimeError,
                            "%s() is a C function: its arguments have no names; get_argument(0) may be known",
                            callback->func->name);
    return frame_of(callback) ? fg_regs_arguments(callback) : NULL;
}

/* ---- the result */

static PyObject *get_return_value(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);
    PyObject *value;

    if (!callback)
        return NULL;
    if (callback->is_entry) {
        PyErr_SetString(PyExc_RuntimeError, "the return value can be read at the return only");
        return NULL;
    }
    value = fg_regs_value(callback);
    if (!value)
        PyErr_SetString(PyExc_RuntimeError,
                        fg_regs_is_c(callback->regs)
                            ? "CPython does not report what a C function returns or raises"
                            : "CPython did not report how this call ended");
    return Py_XNewRef(value);
}

/* ---- the place, and the callable */

static PyObject *get_instruction_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback;

    return live_frame(self, &callback) ? fg_regs_place(callback) : NULL;
}

static PyObject *get_callable(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);
    PyObject *callable = callback ? fg_regs_callable(callback->regs) : NULL;

    if (callback && !callable)
        frame_of(callback); /* raises */
    return Py_XNewRef(callable);
}

/* ---- the frame */

static PyObject *get_frame_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback;

    return live_frame(self, &callback) ? PyLong_FromSize_t(fg_regs_frame_pointer(callback->regs)) : NULL;
}

static PyObject *get_stack_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback;
    uintptr_t address;

    if (!live_frame(self, &callback))
        return NULL;
    address = fg_regs_stack_pointer(callback->regs);
    if (!address)
        PyErr_SetString(PyExc_RuntimeError, "CPython did not report the depth of the evaluation stack here");
    return address ? PyLong_FromSize_t(address) : NULL;
}

static PyObject *query_register_offset(PyObject *self, PyObject *name)
{
    const struct fg_callback *callback;
    fg_pyframe *frame = live_frame(self, &callback);
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;
    int n;

    if (!code)
        return NULL;
    if (!PyUnicode_Check(name))
        return fg_raise_type("name", "the name of a variable", name);
    n = variable(code, code->co_nlocalsplus, name);
    if (n < 0 && !PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "%U() has no variable '%U'", code->co_qualname, name);
    return n < 0 ? NULL : PyLong_FromLong(n);
}

/* Raises why place `n` holds no object. */
FG_COLD static PyObject *raise_no_value(const struct fg_callback *callback, PyCodeObject *code, int n,
                                        PyObject *number)
{
    int depth = fg_regs_stack_depth(callback->regs);
    int places = code->co_nlocalsplus + (depth >= 0 ? depth : code->co_stacksize);

    if (n < 0 || n >= places)
        return PyErr_Format(PyExc_IndexError, "the frame of %U() has %d places now, got number %S",
                            code->co_qualname, places, number);
    if (n < code->co_nlocalsplus)
        return PyErr_Format(PyExc_KeyError, "variable '%U' is unbound",
                            PyTuple_GET_ITEM(code->co_localsplusnames, n));
    if (depth >= 0)
        return PyErr_Format(PyExc_KeyError, "place %d holds no object", n);
    return PyErr_Format(PyExc_RuntimeError, "CPython did not report the depth of the evaluation stack here");
}

static PyObject *get_stack_nth(PyObject *self, PyObject *number)
{
    const struct fg_callback *callback;
    fg_pyframe *frame = live_frame(self, &callback);
    PyObject *value;
    int n;

    if (!frame)
        return NULL;
    if (!PyLong_Check(number))
        return fg_raise_type("n", "the number of a place", number);
    n = index_of(number);
    value = n >= 0 ? fg_regs_take_nth(callback->regs, (unsigned)n) : NULL;
    return value ? value : raise_no_value(callback, fg_pyframe_code(frame), n, number);
}

static PyObject *get_regs(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);
    PyObject *frame;

    if (!callback)
        return NULL;
    if (!saves_regs(callback))
        Py_RETURN_NONE;
    if (!frame_of(callback))
        return NULL;
    frame = fg_regs_frame_object(callback->regs, callback->tstate, callback->newest);
    return frame ? frame : PyErr_NoMemory();
}

/* ---- what is known */

static PyObject *available(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);
    const struct ftrace_regs *regs = callback ? callback->regs : NULL;
    bool has_frame = regs && fg_regs_frame(regs);
    const struct {
        const char *name;
        bool is_filled;
    } parts[] = {
        {"arguments", regs && callback->is_entry && (has_frame || fg_regs_argument(regs, 0))},
        {"return_value", regs && !callback->is_entry && fg_regs_result(regs)},
        {"exception", regs && !callback->is_entry && fg_regs_exception(regs)},
        {"instruction_pointer", has_frame},
        {"frame_pointer", has_frame},
        {"stack_pointer", has_frame && fg_regs_stack_pointer(regs)},
        {"callable", regs && fg_regs_callable(regs)},
        {"stack", has_frame},
        {"frame", has_frame && saves_regs(callback)},
    };
    PyObject *dict = callback ? PyDict_New() : NULL;

    for (size_t i = 0; dict && i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (PyDict_SetItemString(dict, parts[i].name, parts[i].is_filled ? Py_True : Py_False) != 0)
            Py_CLEAR(dict);
    }
    return dict;
}

static PyMethodDef methods[] = {
    {"get_argument", get_argument, METH_O, "get_argument(which): value of an argument, by number or name."},
    {"arguments", arguments, METH_NOARGS, "arguments() -> dict: all bound arguments by name."},
    {"get_return_value", get_return_value, METH_NOARGS,
     "get_return_value(): the value that the call returned, or the exception that it raised."},
    {"get_instruction_pointer", get_instruction_pointer, METH_NOARGS,
     "get_instruction_pointer() -> InstructionPointer: the function's current instruction."},
    {"get_callable", get_callable, METH_NOARGS, "get_callable(): the object that was called."},
    {"get_frame_pointer", get_frame_pointer, METH_NOARGS,
     "get_frame_pointer() -> int: the address of the interpreter's frame."},
    {"get_stack_pointer", get_stack_pointer, METH_NOARGS,
     "get_stack_pointer() -> int: the address above the top of the evaluation stack."},
    {"query_register_offset", query_register_offset, METH_O,
     "query_register_offset(name) -> int: the place of a variable, for get_stack_nth()."},
    {"get_stack_nth", get_stack_nth, METH_O, "get_stack_nth(n): the object in place n of the frame."},
    {"get_regs", get_regs, METH_NOARGS,
     "get_regs() -> FrameType | None: the frame object; None without save_regs."},
    {"partial_regs", fg_regs_partial_regs, METH_NOARGS,
     "partial_regs() -> PartialRegs: a copy, for code that takes the regs of a kprobe."},
    {"fill_perf_regs", FG_KEYWORDS(fg_regs_fill_perf_regs),
     "fill_perf_regs(max_stack=127) -> PerfSample: registers and stack."},
    {"available", available, METH_NOARGS, "available() -> dict: which values are known."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What the hook saw at the function's boundary."},
    {Py_tp_dealloc, fg_dealloc_plain},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fg_regs_spec = {
    .name = "funcgraph._engine.FtraceRegs",
    .basicsize = sizeof(struct fg_regs),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
