/* See marker.h. */
#include "binding/engine/marker.h"

#include <errno.h>
#include <stdint.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/register/instances.h"
#include "arch/cpython/static/print.h"
#include "binding/base/raise.h"
#include "binding/engine/instance_object.h"
#include "engine/tracer/instance_mark.h"

/* The id of the function that calls us; 0 if the engine does not know it. */
static uint32_t caller_id(void)
{
    fg_pyframe *frame = fg_complete_pyframe(fg_current_pyframe(fg_tstate()));
    struct fg_func *func = frame && fg_code_extra_index >= 0 ? fg_code_func(fg_pyframe_code(frame)) : NULL;

    return func ? func->id : 0;
}

#define TOP 0            /* all top instances */
#define NO_INSTANCE (-1) /* a closed one */

/* Return: the number of characters, as the write() of a file. */
static PyObject *write_text(int handle, uint32_t func, PyObject *text)
{
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);
    int error;

    if (!utf8)
        return NULL;
    error = handle == TOP ? fg_cpython_mark_top(func, utf8, (size_t)bytes)
                          : fg_static_print(handle, func, utf8, (size_t)bytes);
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    return PyLong_FromSsize_t(PyUnicode_GetLength(text));
}

static int check_text(PyObject *text)
{
    if (PyUnicode_Check(text))
        return 0;
    fg_raise_type("text", "str", text);
    return -1;
}

static PyObject *print_text(int handle, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *values, *text, *result;

    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "trace_printk needs a format");
        return NULL;
    }
    values = check_text(args[0]) == 0 ? PyTuple_New(nargs - 1) : NULL;
    if (!values)
        return NULL;
    for (Py_ssize_t i = 1; i < nargs; i++)
        PyTuple_SET_ITEM(values, i - 1, Py_NewRef(args[i]));
    text = PyUnicode_Format(args[0], values);
    Py_DECREF(values);
    result = text ? write_text(handle, caller_id(), text) : NULL;
    Py_XDECREF(text);
    return result;
}

PyObject *fg_instance_py_mark(PyObject *self, PyObject *text)
{
    int handle = ((struct fg_instance_object *)self)->handle;

    if (check_text(text) != 0)
        return NULL;
    return write_text(handle ? handle : NO_INSTANCE, 0, text);
}

PyObject *fg_instance_py_mark_raw(PyObject *self, PyObject *data)
{
    int handle = ((struct fg_instance_object *)self)->handle, error;
    Py_buffer bytes;
    Py_ssize_t length;

    if (PyObject_GetBuffer(data, &bytes, PyBUF_SIMPLE) != 0)
        return NULL;
    error = fg_instance_mark_raw(handle ? handle : NO_INSTANCE, bytes.buf, (size_t)bytes.len);
    length = bytes.len;
    PyBuffer_Release(&bytes);
    if (error == -EMSGSIZE) {
        PyObject *text =
            PyUnicode_FromFormat("must be an id of %d bytes and at most %d bytes of data, got %zd",
                                 (int)FG_MARK_ID_BYTES, (int)(FG_MARK_MAX_BYTES - FG_MARK_ID_BYTES), length);

        return fg_raise_os_error(EINVAL, text);
    }
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    return PyLong_FromSsize_t(length);
}

PyObject *fg_instance_py_printk(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int handle = ((struct fg_instance_object *)self)->handle;

    return print_text(handle ? handle : NO_INSTANCE, args, nargs);
}

PyObject *fg_top_mark(PyObject *Py_UNUSED(module), PyObject *text)
{
    return check_text(text) == 0 ? write_text(TOP, 0, text) : NULL;
}

PyObject *fg_top_printk(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    return print_text(TOP, args, nargs);
}
