/* Questions to a trace: each reads it once, with names and cursors of its own. */
#ifndef FG_BINDING_QUESTION_H
#define FG_BINDING_QUESTION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/selection.h"
#include "tracedata/read/merge.h"

#define FG_QUESTION_EVENTS (4u << 20) /* between checks for a signal: a few tenths of a second */

/* The arguments of a Reader's method, borrowed, and what is read then. Zeroed but for these. */
struct fg_question {
    struct fg_reader *reader;
    struct fg_name_table names;
    struct fg_selected selected;
    struct fg_merge merge;
    PyObject *functions, *tasks, *selection, *folds; /* the last two: NULL or None: all, as it is */
    int select_unknown;
    const char *function_mask; /* NULL: the answer has no use for it */
    Py_ssize_t function_mask_bytes;
};

/* Opens the lanes. Return: 0, or -1 with an exception; fg_question_close() is due in any case. */
int fg_question_open(struct fg_question *question);
void fg_question_close(struct fg_question *question);

/* Reads all of it: @step takes up to @events more events, and returns 1, 0 at the end, or an error, -E2BIG:
 * more functions than value_groups.h has room for. Return: 0, or -1 with an exception. */
int fg_question_run(struct fg_question *question, int (*step)(void *answer, uint64_t events), void *answer);

#endif
