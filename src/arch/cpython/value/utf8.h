/* Characters of a str in UTF-8, without the copy that CPython keeps with the str. */
#ifndef FG_CPYTHON_UTF8_H
#define FG_CPYTHON_UTF8_H

#include "arch/cpython/base/compat/python.h"

#include <stddef.h>
#include <stdint.h>

/* Encodes one character. A lone surrogate has no UTF-8 and becomes U+FFFD. Return: the number of bytes
 * written. */
size_t fg_utf8_of(Py_UCS4 c, uint8_t out[4]);
/* Writes as many whole characters of a str as have room, and a NUL, without calling CPython or allocating.
 * NULL, or an object that is no str: none. Return: the number of bytes written, without the NUL. */
size_t fg_utf8_copy(PyObject *str, char *text, size_t bytes);

#endif
