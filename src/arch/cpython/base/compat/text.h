/* The characters of str objects, read without allocating. */
#ifndef FG_COMPAT_TEXT_H
#define FG_COMPAT_TEXT_H

#include "arch/cpython/base/compat/python.h"

#include <string.h>

/* Before 3.12 a str made by a long obsolete function may have no characters yet. */
static inline bool fg_str_is_ready(PyObject *text)
{
#if PY_VERSION_HEX >= 0x030C0000
    (void)text;
    return true;
#else
    return PyUnicode_IS_READY(text);
#endif
}

/* True for a str, also of a subclass, whose characters can be read. */
static inline bool fg_is_str(PyObject *object)
{
    return PyUnicode_Check(object) && fg_str_is_ready(object);
}

/* Compares two of them. */
static inline bool fg_str_equal(PyObject *a, PyObject *b)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(a);

    return PyUnicode_GET_LENGTH(b) == length && PyUnicode_KIND(a) == PyUnicode_KIND(b) &&
           memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), (size_t)length * PyUnicode_KIND(a)) == 0;
}

#endif
