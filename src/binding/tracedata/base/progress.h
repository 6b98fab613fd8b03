/* Python callables that are called with the share of a trace that was read. */
#ifndef FG_BINDING_PROGRESS_H
#define FG_BINDING_PROGRESS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "tracedata/base/reading.h"

/* Of C code that reads all of a trace without the GIL. */
struct fg_progress {
    struct fg_reading reading; /* for that code; the first member */
    PyObject *callable;        /* borrowed; NULL or None: there is none */
    PyThreadState *thread;
    uint64_t last; /* the bytes when it was called; 0: it was not */
};

/* Releases the GIL: what reads with &progress->reading calls @callable then, and looks for signals. */
void fg_progress_begin(struct fg_progress *progress, PyObject *callable);
/* Takes the GIL again. Return: true if there is an exception, of the callable or of a signal's handler: it
 * has ended the reading. */
bool fg_progress_end(struct fg_progress *progress);

/* With the GIL: looks for signals, and calls @callable (NULL: there is none). Return: 0, or -1 with an
 * exception. */
int fg_progress_call(const struct fg_reading *reading, PyObject *callable);

#endif
