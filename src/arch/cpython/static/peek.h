/* An attribute of an object, as it is stored. */
#ifndef FG_CPYTHON_STATIC_PEEK_H
#define FG_CPYTHON_STATIC_PEEK_H

#include "arch/cpython/base/compat/python.h"

/* Reads what object.__getattribute__ would, but where that would run code of the program. New reference;
 * NULL: there is no such attribute, or only code tells it. No exception is left set; one that is set is
 * lost. */
PyObject *fg_peek(PyObject *object, const char *name);

/* The UTF-8 of an attribute that is a str, copied into @text, cut to what has room; "" if it is none. */
void fg_peek_text(PyObject *object, const char *name, char *text, size_t bytes);

#endif
