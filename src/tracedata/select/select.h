/* Reads a selection of a trace: a stage between the lanes' cursors and their merge, so that all that reads a
 * merge (report, summary, columns) sees a trace that has no other events.
 *
 * It keeps, for each lane, the calls in progress; with a least duration also the events after the oldest call
 * whose duration is not known yet. */
#ifndef FG_SELECT_H
#define FG_SELECT_H

#include "tracedata/read/merge.h"
#include "tracedata/select/selection.h"

struct fg_select;

/**
 * fg_select_new() - Make the stage of one merge.
 * @selection: stays the caller's, and must live as long
 * @file: likewise
 *
 * Return: 0, and *@select is for fg_merge_open_selected(), and to be freed after that merge was closed; or
 * -ENOMEM.
 */
int fg_select_new(const struct fg_selection *selection, const struct fg_trace_file *file,
                  struct fg_select **select);
void fg_select_free(struct fg_select *select);

struct fg_merge_stage *fg_select_stage(struct fg_select *select);

#endif
