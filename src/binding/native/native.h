/* Native functions for Python: taking plans of loaded objects, and what has become of them. */
#ifndef FG_BINDING_NATIVE_H
#define FG_BINDING_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Rows of the module's table. Where native functions cannot be hooked, native_run alone. */
extern PyMethodDef fg_native_functions[];

#endif
