/* Runs over a trace and adds up what summary_figures.h defines. */
#ifndef FG_SUMMARY_H
#define FG_SUMMARY_H

#include "tracedata/read/merge.h"
#include "tracedata/view/call_tree.h"
#include "tracedata/view/summary_figures.h"

struct fg_summary;

/* Begins a summary of all events of `merge`, which stays the caller's and must live as long. Return: 0 or
 * -ENOMEM. */
int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary);
void fg_summary_free(struct fg_summary *summary);

/* Makes a merged call tree too: to be called before any event is counted. Calls, resumes, exceptions and
 * self times of a function's nodes add up to the function's. So does the total time of those of its nodes
 * that have no node of the same function above them. Return: 0 or -ENOMEM. */
int fg_summary_grow_tree(struct fg_summary *summary, enum fg_tree_groups groups);
const struct fg_call_tree *fg_summary_tree(const struct fg_summary *summary); /* NULL: none was asked for */

/* Counts up to `events` more events. Return: 1; 0: that was all; or an error of fg_merge_next(). */
int fg_summary_run(struct fg_summary *summary, uint64_t events);

/* The figures by function index; after the trace's functions comes one for all that it does not name, and
 * one for all imports that a stage folded (select/fold.h). In that row, calls, resumes and exceptions are
 * those of the folded calls; shortest, longest and ended are of imports. */
const struct fg_function_summary *fg_summary_functions(const struct fg_summary *summary);

/* How often each kind of event was hit, by its number in the trace (event_table.h); @n: so many kinds. */
const uint64_t *fg_summary_events(const struct fg_summary *summary, size_t *n);

#endif
