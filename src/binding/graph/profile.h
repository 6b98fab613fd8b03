/* ProfileBase: the function profiler as a Python object. */
#ifndef FG_BINDING_PROFILE_H
#define FG_BINDING_PROFILE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyType_Spec fg_profile_spec;

/* Stops all profiles of this interpreter, which is ending. */
void fg_profiles_end(void);

#endif
