/* An expectation for call_matcher.h, made of Python's tuples, and the difference that is found. */
#ifndef FG_BINDING_EXPECTATION_H
#define FG_BINDING_EXPECTATION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "tracedata/answers/call_matcher.h"

/* Reads (names, lines, number of sections, functions): see the stub. The texts stay those of @tuple, which
 * must live as long. Return: 0, or -1 with an exception; to be freed in any case. */
int fg_expectation_parse(struct fg_expectation *expectation, PyObject *tuple);
void fg_expectation_free(struct fg_expectation *expectation);

/* (path, what, expected, before, got), or None. */
PyObject *fg_difference_tuple(const struct fg_match_difference *difference);

/* Raises OverflowError: it would take more steps. */
void fg_raise_steps(const struct fg_call_matcher *matcher);

#endif
