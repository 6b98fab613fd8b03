/* See attribute.h. */
#include "arch/cpython/value/attribute.h"

#include <string.h>

#include "arch/cpython/base/compat/lookup.h"

#define MAX_PARTIALS 8 /* how many nested functools.partial objects are opened */

PyObject *fg_c_attribute(PyObject *object, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *descriptor = key ? fg_type_lookup(Py_TYPE(object), key) : NULL;
    PyObject *value = NULL;

    if (descriptor &&
        (Py_IS_TYPE(descriptor, &PyMemberDescr_Type) || Py_IS_TYPE(descriptor, &PyGetSetDescr_Type)))
        value = Py_TYPE(descriptor)->tp_descr_get(descriptor, object, (PyObject *)Py_TYPE(object));
    Py_XDECREF(key);
    Py_XDECREF(descriptor);
    PyErr_Clear();
    return value;
}

PyObject *fg_without_partial(PyObject *callable)
{
    Py_INCREF(callable);
    for (int i = 0; i < MAX_PARTIALS && strcmp(Py_TYPE(callable)->tp_name, "functools.partial") == 0; i++) {
        PyObject *func = fg_c_attribute(callable, "func");

        if (!func)
            break;
        Py_SETREF(callable, func);
    }
    return callable;
}
