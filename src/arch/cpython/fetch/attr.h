/* The step a.b: an attribute, read from the dictionaries and slots where CPython keeps it.
 *
 * It follows object.__getattribute__: a data descriptor of the type, then the instance, then the type. Of
 * descriptors it knows slots and what CPython itself has in its structures. Anything else that has a
 * __get__ would run: a fault. So is an attribute that only __getattr__ could make, and any attribute of a
 * type with a __getattribute__ of its own. A function in a type is fetched as it is, not bound. */
#ifndef FG_CPYTHON_FETCH_ATTR_H
#define FG_CPYTHON_FETCH_ATTR_H

#include "arch/cpython/fetch/step.h"
#include "arch/cpython/value/fetched.h"

struct fg_fetched fg_fetch_attr(PyObject *object, const struct fg_fetch_step *step);

#endif
