/* The object behind Reader. */
#ifndef FG_BINDING_READER_OBJECT_H
#define FG_BINDING_READER_OBJECT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tracedata/read/name_table.h"
#include "tracedata/read/trace_file.h"

struct fg_reader {
    PyObject_HEAD PyObject *path;
    struct fg_trace_file file;
    struct fg_name_table names;
    struct fg_reading reading; /* of `file` */
    PyObject *progress;        /* a callable, or NULL */
    bool has_names;
    _Atomic uint32_t nr_reports; /* iterators over text, which use `names` */
    bool is_busy; /* a thread reads without the GIL; unknown tasks that it finds change `names` */
};

/* Starts a stretch of reading: the caller clears is_busy when it is done. Return: false with
 * RuntimeError: set_names() was not called, or another thread reads. */
bool fg_reader_begin(struct fg_reader *reader);

/* To be called now and then while the trace is read, with the GIL: looks for signals, and reports the
 * progress. Return: 0, or -1 with an exception. */
int fg_reader_step(struct fg_reader *reader);

/**
 * fg_reader_raise - raise what an error of the C side means
 * @reason: what is wrong with the file, for -EINVAL and -ENOTSUP
 *
 * Return: NULL.
 */
PyObject *fg_reader_raise(struct fg_reader *reader, int error, const char *reason);

#endif
