/* Raising exceptions of one form from many places. Each function here returns NULL. */
#ifndef FG_BINDING_RAISE_H
#define FG_BINDING_RAISE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/**
 * fg_raise_type - raise TypeError "@what must be @needed, not TYPE"
 * @what: the argument
 * @given: the object whose type is wrong
 */
PyObject *fg_raise_type(const char *what, const char *needed, PyObject *given);

/**
 * fg_raise_os_error - raise OSError(@number, @text), as the subclass that stands for the number
 * @number: positive errno
 * @text: a new reference, which is stolen; or NULL with an exception set, which stays
 */
PyObject *fg_raise_os_error(int number, PyObject *text);

/**
 * fg_raise_errno - raise what a negative errno of a C function means
 * @error: -ENOMEM raises MemoryError, any other number OSError with the text of strerror()
 * @path: str or bytes, the file that the error is about; or NULL
 */
PyObject *fg_raise_errno(int error, PyObject *path);

#endif
