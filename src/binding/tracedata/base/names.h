/* The names of a trace, from Python's sequences. */
#ifndef FG_BINDING_NAMES_H
#define FG_BINDING_NAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/base/sequences.h"
#include "tracedata/read/name_table.h"
#include "tracedata/read/trace_file.h"

/* Fills a table with what Reader.set_names() takes. @functions may be NULL; it is gone through once, so that
 * its items need not be there all at a time. Return: 0, or -1 with an exception; the table must be freed in
 * any case. */
int fg_fill_names(struct fg_name_table *names, const struct fg_trace_file *file, PyObject *functions,
                  PyObject *tasks, int select_unknown);

/* A list of (lane, tid) of the tasks that events had and the list of tasks has not. */
PyObject *fg_unknown_tasks(const struct fg_name_table *names);

#endif
