/* Finds the calls whose values meet a selection's filters: a pass over the trace before it is read, since the
 * result and the duration of a call are known at its end. It keeps the calls in progress and suspended, and
 * two bits for each event of a call. */
#ifndef FG_FIND_CALLS_H
#define FG_FIND_CALLS_H

#include "tracedata/read/merge.h"
#include "tracedata/select/selection.h"

/**
 * fg_find_calls() - Mark the calls that meet selection->values, and the calls around them that are shown.
 * @file: not a kernel's: a thread's number is not the same in two passes over one
 * @names: its tasks; whether they are selected does not matter
 * @reason: for -EINVAL
 *
 * What it meets of the filters' attributes stands in these: see fg_call_attribute.
 *
 * Damage ends the pass, as it ends whatever reads the trace afterwards.
 *
 * Return: 0; -ENOMEM; or an error of fg_merge_open().
 */
int fg_find_calls(struct fg_selection *selection, const struct fg_trace_file *file,
                  const struct fg_name_table *names, char reason[FG_REASON_BYTES]);

#endif
