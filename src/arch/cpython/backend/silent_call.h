/* Places in the code that call nothing which is recorded: they stop to report their calls. */
#ifndef FG_CPYTHON_SILENT_CALL_H
#define FG_CPYTHON_SILENT_CALL_H

#include "arch/cpython/base/compat/python.h"

#include <stdbool.h>

#include "engine/core/function.h"

/**
 * fg_call_stays_silent() - Whether a place that makes this call will make no other one that is recorded.
 * @code: the caller
 * @callable: what it calls
 * @func: the record of @callable, which has no users; NULL: it is not a C function
 *
 * A Python function, a class, or a C function that is always brief is called by its own name. What has that
 * name later is most likely the same, or another one of its kind. Not if a C function of that name may wait:
 * a program has its own classes of files, locks, sockets beside those in C.
 */
bool fg_call_stays_silent(PyCodeObject *code, PyObject *callable, const struct fg_func *func);

#endif
