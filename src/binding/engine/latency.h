/* The latency tracers' half of funcgraph._engine. */
#ifndef FG_ENGINE_LATENCY_H
#define FG_ENGINE_LATENCY_H

#include "arch/cpython/base/compat/python.h"

/* Puts it into the module. -1 with an exception. */
int fg_latency_add(PyObject *module);

#endif
