/* The end of the interpreter. */
#ifndef FG_BINDING_EXIT_H
#define FG_BINDING_EXIT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Registers with atexit what is to be done when the interpreter ends. Return: 0, or -1 with an exception. */
int fg_exit_add(PyObject *module);

#endif
