/* Running a Python function of our own, unseen by the program. */
#ifndef FG_CPYTHON_UNSEEN_H
#define FG_CPYTHON_UNSEEN_H

#include "arch/cpython/base/compat/python.h"

/**
 * fg_call_unseen() - Call a Python function that observes the interpreter.
 * @function: the function
 * @args: its @n arguments
 *
 * The program's trace functions are paused, and the garbage collector is off, so that it runs no code of
 * the program.
 *
 * Return: 0; -1 with an exception. It may be that of a signal handler of the program.
 */
int fg_call_unseen(PyObject *function, PyObject *const *args, size_t n);

#endif
