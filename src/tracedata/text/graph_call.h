/* Lines of calls in the function_graph layout, from the duration on: a call with its end, its beginning, its
 * end, and the comments there. */
#ifndef FG_GRAPH_CALL_H
#define FG_GRAPH_CALL_H

#include <stdbool.h>

#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/text/graph_columns.h"

/* A call without callees. @end: its exit, which is decoded in @exit. */
void fg_graph_put_leaf(struct fg_text *text, const struct fg_graph_columns *columns,
                       const struct fg_graph_event *entry, const struct fg_event *end,
                       const struct fg_graph_event *exit);
/* Several of them on one line: @calls, with those that were folded, which took @duration_ns together. */
void fg_graph_put_leaves(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_graph_event *entry, uint64_t duration_ns, uint64_t calls);
/* The beginning of a call, up to its brace. */
void fg_graph_put_nested(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_graph_event *entry);
/* The end of a call. @event: its exit, which is decoded in @exit. Without its beginning in the text the line
 * has the function's name. */
void fg_graph_put_end(struct fg_text *text, const struct fg_graph_columns *columns,
                      const struct fg_event *event, const struct fg_graph_event *exit, bool has_beginning);

#endif
