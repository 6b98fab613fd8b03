/* Calls as Python objects: of each end of a call in a batch of slices, a tuple of what is known of it. */
#ifndef FG_BINDING_CALL_OBJECTS_H
#define FG_BINDING_CALL_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds call_objects() to the module. Return: 0, or -1 with an exception. */
int fg_add_call_objects(PyObject *module);

#endif
