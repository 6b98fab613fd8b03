/* See peek.h. */
#include "arch/cpython/static/peek.h"

#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/read/utf8.h"

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

void fg_copy_text(PyObject *str, char *text, size_t bytes)
{
    size_t used = 0;

    for (Py_ssize_t i = 0; str && PyUnicode_Check(str) && i < PyUnicode_GET_LENGTH(str); i++) {
        uint8_t utf8[4];
        size_t n = fg_utf8_of(PyUnicode_READ_CHAR(str, i), utf8);

        if (used + n >= bytes)
            break;
        memcpy(text + used, utf8, n);
        used += n;
    }
    text[used] = 0;
}

void fg_peek_text(PyObject *object, const char *name, char *text, size_t bytes)
{
    PyObject *value = fg_peek(object, name);

    fg_copy_text(value, text, bytes);
    Py_XDECREF(value);
}
