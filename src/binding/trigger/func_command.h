/* FuncCommand: what calls of functions do in an instance. */
#ifndef FG_BINDING_FUNC_COMMAND_H
#define FG_BINDING_FUNC_COMMAND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_func_command_spec;

#endif
