/* The C API for other extensions: the table behind funcgraph._engine._C_API. */
#ifndef FG_CAPI_H
#define FG_CAPI_H

#include "arch/cpython/compat.h"

/* Puts the capsule into the module. -1 with an exception. */
int fg_capi_add(PyObject *module);

#endif
