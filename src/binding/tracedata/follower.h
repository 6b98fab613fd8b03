/* Follower: the events of a `.fg` that still grows, as columns. */
#ifndef FG_BINDING_FOLLOWER_H
#define FG_BINDING_FOLLOWER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds Follower to the module. Return: 0, or -1 with an exception. */
int fg_add_follower_types(PyObject *module);

#endif
