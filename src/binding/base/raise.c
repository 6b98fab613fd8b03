/* See raise.h. */
#include "binding/base/raise.h"

#include <errno.h>

PyObject *fg_raise_type(const char *what, const char *needed, PyObject *given)
{
    return PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s", what, needed, Py_TYPE(given)->tp_name);
}

PyObject *fg_raise_os_error(int number, PyObject *text)
{
    PyObject *error = text ? PyObject_CallFunction(PyExc_OSError, "iO", number, text) : NULL;

    if (error)
        PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_XDECREF(error);
    Py_XDECREF(text);
    return NULL;
}

PyObject *fg_raise_errno(int error, PyObject *path)
{
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    errno = -error;
    return PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}
