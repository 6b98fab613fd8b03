/* FtraceRegs: what the hook saw at the function's boundary, read without running any of the program's code. */
#include "fgraph_binding.h"

#include "arch/cpython/code.h"
#include "arch/cpython/values.h"

static void dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_Free(object);
    Py_DECREF(type);
}

static const struct fg_callback *live(PyObject *object)
{
    const struct fg_callback *callback = ((struct fg_regs *)object)->callback;

    if (!callback)
        PyErr_SetString(PyExc_RuntimeError, "regs used after its callback: what it shows is gone");
    return callback;
}

/* The frame with the arguments in place, or NULL with an exception. */
static fg_pyframe *frame_with_arguments(const struct fg_callback *callback)
{
    if (!callback->entry) {
        PyErr_SetString(PyExc_RuntimeError, "the arguments can be read at the entry only: at the return the "
                                            "function's variables may have other values");
        return NULL;
    }
    if (callback->regs->ops != &fg_python_regs_ops || !callback->regs->frame) {
        PyErr_SetString(PyExc_RuntimeError, "the arguments of this call are not known");
        return NULL;
    }
    return callback->regs->frame;
}

/* New reference. Unbound: a KeyError, as a lookup of what is not there. */
static PyObject *argument(const struct fg_callback *callback, PyCodeObject *code, int n)
{
    PyObject *value = Py_XNewRef(fg_regs_argument(callback->regs, (unsigned)n));

    if (!value)
        PyErr_Format(PyExc_KeyError, "argument '%U' is unbound",
                     PyTuple_GET_ITEM(code->co_localsplusnames, n));
    return value;
}

/* The number of an argument, -1 with an exception. */
static int number_of(PyCodeObject *code, PyObject *which)
{
    int count = fg_code_argument_count(code);

    if (PyUnicode_Check(which)) {
        for (int i = 0; i < count; i++) {
            if (PyUnicode_Compare(PyTuple_GET_ITEM(code->co_localsplusnames, i), which) == 0)
                return i;
        }
        PyErr_Format(PyExc_KeyError, "%U() has no argument '%U'", code->co_qualname, which);
    } else if (PyLong_Check(which)) {
        long n = PyLong_AsLong(which);

        if (n >= 0 && n < count)
            return (int)n;
        PyErr_Format(PyExc_IndexError, "%U() has %d arguments, there is no number %S", code->co_qualname,
                     count, which);
    } else {
        PyErr_Format(PyExc_TypeError, "an argument's number or name is needed, not %.100s",
                     Py_TYPE(which)->tp_name);
    }
    return -1;
}

static PyObject *get_argument(PyObject *self, PyObject *which)
{
    const struct fg_callback *callback = live(self);
    fg_pyframe *frame = callback ? frame_with_arguments(callback) : NULL;
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;
    int n = code ? number_of(code, which) : -1;

    return n < 0 ? NULL : argument(callback, code, n);
}

static PyObject *arguments(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = live(self);
    fg_pyframe *frame = callback ? frame_with_arguments(callback) : NULL;
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;
    PyObject *dict = code ? PyDict_New() : NULL;
    int error = 0;

    for (int i = 0; dict && !error && i < fg_code_argument_count(code); i++) {
        PyObject *value = Py_XNewRef(fg_regs_argument(callback->regs, (unsigned)i));

        if (value)
            error = PyDict_SetItem(dict, PyTuple_GET_ITEM(code->co_localsplusnames, i), value);
        Py_XDECREF(value);
    }
    if (error)
        Py_CLEAR(dict);
    return dict;
}

static PyObject *get_return_value(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = live(self);
    PyObject *value;

    if (!callback)
        return NULL;
    if (callback->entry) {
        PyErr_SetString(PyExc_RuntimeError, "there is no return value at the entry");
        return NULL;
    }
    value = callback->end->end == FG_END_RETURN ? fg_regs_result(callback->regs)
                                                : fg_regs_exception(callback->regs);
    if (!value)
        PyErr_SetString(PyExc_RuntimeError, "CPython did not tell how this call ended");
    return Py_XNewRef(value);
}

static PyMethodDef methods[] = {
    {"get_argument", get_argument, METH_O,
     "get_argument(which): the value of an argument, by number or name."},
    {"arguments", arguments, METH_NOARGS, "arguments() -> dict: all arguments by name."},
    {"get_return_value", get_return_value, METH_NOARGS,
     "get_return_value(): what the call returned, or the exception that it ended by."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What the hook saw at the function's boundary."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fg_regs_spec = {
    .name = "funcgraph._engine.FtraceRegs",
    .basicsize = sizeof(struct fg_regs),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
