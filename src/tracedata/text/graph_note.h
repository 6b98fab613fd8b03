/* Lines of the function_graph layout for events that are not calls: a wait for the recorder, an overrun,
 * a message, or a record of the function tracer. Each is a comment in the column of the calls. */
#ifndef FG_GRAPH_NOTE_H
#define FG_GRAPH_NOTE_H

#include "tracedata/read/merge.h"
#include "tracedata/text/graph_columns.h"

/* Prints one event, indented as a call at `depth`. An event of an unknown type is skipped: a later
 * version of funcgraph may have written it. Return: 0, or an error of fg_merge_next(). */
int fg_graph_put_note(struct fg_text *text, const struct fg_graph_columns *columns, struct fg_merge *merge,
                      const struct fg_event *event, uint32_t depth);

#endif
