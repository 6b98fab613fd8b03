/* See question.h. */
#include "binding/tracedata/question.h"

#include <errno.h>

#include "binding/tracedata/base/names.h"
#include "tracedata/answers/value_groups.h"

void fg_question_close(struct fg_question *question)
{
    if (question->merge.file)
        fg_merge_close(&question->merge);
    fg_selected_free(&question->selected);
    fg_name_table_free(&question->names);
}

int fg_question_open(struct fg_question *question)
{
    const struct fg_trace_file *file = &question->reader->file;
    int error;

    if (fg_fill_names(&question->names, file, question->functions, question->tasks,
                      question->select_unknown) < 0 ||
        fg_selected_parse(&question->selected, question->reader, &question->names, question->selection) < 0 ||
        fg_selected_parse_folds(&question->selected, file, &question->names, question->folds) < 0)
        return -1;
    if (question->function_mask &&
        question->function_mask_bytes != (Py_ssize_t)question->names.nr_functions) {
        PyErr_SetString(PyExc_ValueError, "function_mask must have a byte for each function of the trace");
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS;
    error = fg_selected_open(&question->selected, &question->merge, file, &question->names);
    Py_END_ALLOW_THREADS;
    if (error)
        fg_reader_raise(question->reader, error, question->merge.reason);
    return error ? -1 : 0;
}

int fg_question_run(struct fg_question *question, int (*step)(void *answer, uint64_t events), void *answer)
{
    int result = 1;

    while (result == 1) {
        if (fg_reader_step(question->reader) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS;
        result = step(answer, FG_QUESTION_EVENTS);
        Py_END_ALLOW_THREADS;
    }
    if (result == -E2BIG)
        PyErr_Format(PyExc_OverflowError, "more than %u functions were called; choose fewer",
                     FG_MOST_VALUE_FUNCTIONS);
    else if (result < 0)
        fg_reader_raise(question->reader, result, question->merge.reason);
    return result < 0 ? -1 : 0;
}
