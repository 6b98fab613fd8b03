/* See peek.h. */
#include "arch/cpython/static/peek.h"

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/value/utf8.h"

/* C code reads members and getters of a type's own structure. Any other descriptor may be the program's. */
static bool is_harmless(const PyObject *descriptor)
{
    return !descriptor || Py_IS_TYPE(descriptor, &PyMemberDescr_Type) ||
           Py_IS_TYPE(descriptor, &PyGetSetDescr_Type) || !Py_TYPE(descriptor)->tp_descr_get;
}

PyObject *fg_peek(PyObject *object, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    PyObject *descriptor = key ? fg_type_lookup(Py_TYPE(object), key) : NULL;
    PyObject *value = key && is_harmless(descriptor) ? PyObject_GenericGetAttr(object, key) : NULL;

    Py_XDECREF(descriptor);
    Py_XDECREF(key);
    PyErr_Clear();
    return value;
}

void fg_peek_text(PyObject *object, const char *name, char *text, size_t bytes)
{
    PyObject *value = fg_peek(object, name);

    fg_utf8_copy(value, text, bytes);
    Py_XDECREF(value);
}
