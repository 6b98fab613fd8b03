/* KprobeMultiLink: one program on many functions, with a cookie for each. */
#ifndef FG_BINDING_KPROBE_MULTI_H
#define FG_BINDING_KPROBE_MULTI_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_kprobe_multi_link_spec;
extern PyMethodDef fg_kprobe_multi_functions[];

#endif
