/* Fprobe: entry and exit handlers on many functions, as a Python object. */
#ifndef FG_BINDING_FPROBE_H
#define FG_BINDING_FPROBE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_fprobe_spec;
extern PyMethodDef fg_fprobe_functions[];

#endif
