/* Reads the calls of a trace through a selection, for the tests of damaged files. */
#ifndef SELECTIONS_H
#define SELECTIONS_H

#include <stdint.h>

#include "tracedata/read/merge.h"

/* @number chooses one of many selections; 0: all events. All that is read is within its arrays. Return: 0,
 * or an error of fg_merge_next(). */
int read_selected_calls(struct fg_trace_file *file, struct fg_name_table *names, uint32_t number);

/* Reads a summary and a report in which some functions are import machinery and some the program's own, as
 * @number chooses. */
void read_folded(struct fg_trace_file *file, struct fg_name_table *names, uint32_t number);

#endif
