/* Native functions for Python: taking plans of loaded objects, and what has become of them. */
#ifndef FG_BINDING_NATIVE_H
#define FG_BINDING_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* native_meet, native_matching, native_functions, native_run: rows of the module's table. Only the last one
 * where native functions cannot be hooked. */
extern PyMethodDef fg_native_functions[];

#endif
