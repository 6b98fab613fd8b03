/* Encoding values without their parts: None, numbers and texts of built-in types; of all others type, and
 * length or address. Only exact types are decoded: the program's classes may override methods. */
#ifndef FG_CPYTHON_PLAIN_VALUES_H
#define FG_CPYTHON_PLAIN_VALUES_H

#include "arch/cpython/value/value_out.h"

/* Each needs room for FG_VALUE_MAX_BYTES. Texts use more room, if there is and the style wants it. */

/* None, a bool, an int, a float, a str or bytes. Return: false: it is none of these; nothing was written. */
bool fg_put_exact(struct fg_out *out, PyObject *value);
/* A str, also one of a subclass. */
void fg_put_str(struct fg_out *out, PyObject *text);
/* Bytes, also of a subclass. */
void fg_put_byte_string(struct fg_out *out, PyObject *bytes);
/* An int, also one of a subclass. */
void fg_put_int(struct fg_out *out, PyObject *number);
/* UTF-8, of which @characters are in the whole text. */
void fg_put_utf8(struct fg_out *out, const char *text, size_t bytes, size_t characters);
/* The type of an object, and its length or address. */
void fg_put_object(struct fg_out *out, PyObject *value);
/* The length of a built-in container or of an instance of a subclass; -1: not a container. */
Py_ssize_t fg_container_length(PyObject *value);

#endif
