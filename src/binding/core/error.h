/* Exceptions that Python callbacks raise, and the one that says that tracing has ended for good. */
#ifndef FG_BINDING_ERROR_H
#define FG_BINDING_ERROR_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/compiler.h"

/**
 * fg_error_report - report the exception that a callback raised
 * @owner: the object that the callback belongs to
 * @function: the callback
 * @last_error: where @owner keeps its latest exception, under the critical section of @owner
 * @errors: where @owner counts exceptions
 *
 * An exception is set on entry, and none on return. A signal handler of the program may have run in the
 * callback and raised: that exception is raised in the program.
 *
 * Return: true if the exception was the callback's: it was counted, kept, and shown with
 * sys.unraisablehook; false if it was the program's.
 */
FG_COLD bool fg_error_report(PyObject *owner, PyObject *function, PyObject **last_error,
                             _Atomic uint64_t *errors);

/**
 * fg_raise_killed - raise OSError ENODEV with the kill switch's reason
 *
 * For -ENODEV of the engine: it registers and starts nothing once the kill switch has tripped.
 *
 * Return: NULL.
 */
PyObject *fg_raise_killed(void);

#endif
