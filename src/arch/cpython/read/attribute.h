/* Attributes that a type implements in C, read without running any code of the program. */
#ifndef FG_CPYTHON_ATTRIBUTE_H
#define FG_CPYTHON_ATTRIBUTE_H

#include "arch/cpython/base/compat/python.h"

/* The object's attribute, if its type has a slot or a getter for it. New reference; NULL: it has neither,
 * or the slot is empty. No exception is left set. */
PyObject *fg_c_attribute(PyObject *object, const char *name);

/* The function inside functools.partial objects; `callable` itself if it is none. New reference. */
PyObject *fg_without_partial(PyObject *callable);

#endif
