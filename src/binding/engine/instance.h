/* Instances as Python objects, and working untraced. */
#ifndef FG_ENGINE_INSTANCE_H
#define FG_ENGINE_INSTANCE_H

#include "arch/cpython/base/compat/python.h"
#include "engine/tracer/tracer.h"

extern PyType_Spec fg_instance_spec;
extern PyMethodDef fg_instance_functions[];

/* A dict of options: the kernel's name to that of the setting. */
PyObject *fg_instance_flags(void);
/* A dict of numbers: the setting's name to its least and greatest value. */
PyObject *fg_instance_limits(void);
/* NULL with a ValueError that names those that there are. */
const struct fg_tracer *fg_tracer_named(const char *name);

#endif
