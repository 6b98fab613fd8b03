/* Reader.expect() and match_calls(): calls that are compared with an expectation. */
#ifndef FG_BINDING_EXPECT_H
#define FG_BINDING_EXPECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_reader_expect(PyObject *self, PyObject *args);

/* Adds match_calls() and MATCH_DIFFERENCES. Return: 0, or -1 with an exception. */
int fg_add_expect_functions(PyObject *module);

#endif
