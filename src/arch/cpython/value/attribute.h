/* Reading attributes that a type implements in C, without running code of the program. */
#ifndef FG_CPYTHON_ATTRIBUTE_H
#define FG_CPYTHON_ATTRIBUTE_H

#include "arch/cpython/base/compat/python.h"

/* The object's attribute, read through its type's C slot or getter. New reference; NULL: the type has
 * neither, or the slot is empty. No exception is left set. */
PyObject *fg_c_attribute(PyObject *object, const char *name);

/* The function inside functools.partial objects; `callable` itself if it is not a partial. New
 * reference. */
PyObject *fg_without_partial(PyObject *callable);

#endif
