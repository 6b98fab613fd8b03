/* Reader.call_values(), repeats(), exceptions() and slow_calls(): answers about calls and their values. */
#ifndef FG_BINDING_ANSWERS_H
#define FG_BINDING_ANSWERS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

PyObject *fg_reader_call_values(PyObject *self, PyObject *args);
PyObject *fg_reader_repeats(PyObject *self, PyObject *args);
PyObject *fg_reader_exceptions(PyObject *self, PyObject *args);
PyObject *fg_reader_slow_calls(PyObject *self, PyObject *args);

/* Adds the name EXCEPTION_FATES. Return: 0, or -1 with an exception. */
int fg_add_answer_names(PyObject *module);

#endif
