/* What a reader's methods leave out: their arguments `selection` and `folds`, and match_functions(). */
#ifndef FG_BINDING_SELECTION_H
#define FG_BINDING_SELECTION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/tracedata/reader_object.h"
#include "tracedata/read/merge.h"
#include "tracedata/select/fold.h"
#include "tracedata/select/select.h"

/* A selection that is read. Zeroed: everything is read. */
struct fg_selected {
    struct fg_selection selection;
    struct fg_select *select; /* NULL: everything is read */
    PyObject *marks;          /* bytes, to which `fold` points */
    struct fg_fold *fold;     /* NULL: imports are not folded */
};

/* Takes the argument `selection`: see the stub. A choice by values reads the whole trace, of all tasks of
 * @names, and reports the reader's progress meanwhile. Return: 0, or -1 with an exception; to be freed then
 * too. */
int fg_selected_parse(struct fg_selected *selected, struct fg_reader *reader,
                      const struct fg_name_table *names, PyObject *argument);
/* Takes the argument `folds`, likewise; @names get the imports. */
int fg_selected_parse_folds(struct fg_selected *selected, const struct fg_trace_file *file,
                            struct fg_name_table *names, PyObject *argument);
/* After the merge that reads it was closed. */
void fg_selected_free(struct fg_selected *selected);

/* As fg_merge_open(). */
int fg_selected_open(struct fg_selected *selected, struct fg_merge *merge, const struct fg_trace_file *file,
                     struct fg_name_table *names);

/* Adds match_functions(), and the fields of calls, to the module. Return: 0, or -1 with an exception. */
int fg_add_selection_functions(PyObject *module);

#endif
