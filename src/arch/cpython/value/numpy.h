/* Arrays and scalars of numpy, read from its structures, which are part of its ABI (ndarraytypes.h and
 * arrayscalars.h). numpy is never imported: its types are built-in types with their names. */
#ifndef FG_CPYTHON_NUMPY_H
#define FG_CPYTHON_NUMPY_H

#include "arch/cpython/value/fetched.h"

/* True if an array, and no subclass of it. */
bool fg_is_ndarray(PyObject *object);
/* The attribute of an array: shape, ndim, size or dtype. dtype is its name. */
struct fg_fetched fg_ndarray_attr(PyObject *array, const char *name);
struct fg_fetched fg_ndarray_len(PyObject *array);
/* The number in a scalar as numpy.int64; FAULT: it is none. */
struct fg_fetched fg_numpy_number(PyObject *scalar);

#endif
