/* FgraphOps: a user of the function graph as a Python object. */
#ifndef FG_BINDING_OPS_H
#define FG_BINDING_OPS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_ops_spec;

#endif
