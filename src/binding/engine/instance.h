/* Instance: an instance without a file, changed and read by its own process. */
#ifndef FG_BINDING_INSTANCE_H
#define FG_BINDING_INSTANCE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_instance_spec;

#endif
