/* Codecs that Python has, for systems without the C library: codec_names(), provide_codec(). */
#ifndef FG_BINDING_PYTHON_CODEC_H
#define FG_BINDING_PYTHON_CODEC_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Adds the functions to the module. Return: 0, or -1 with an exception. */
int fg_add_codec_functions(PyObject *module);

#endif
