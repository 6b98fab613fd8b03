/* A trace as text, line by line in order of time: the kernel's function_graph layout, or its `function`
 * layout for traces of that tracer. Here are the options and the stream; the lines are in graph_text.c and
 * function_text.c. */
#ifndef FG_REPORT_H
#define FG_REPORT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/view/report_style.h"

struct fg_report;

/* Prints what the merge delivers; the merge stays the caller's. Each of the trace's buffers has its style, by
 * number; the header is that of buffer `header`. Lines of several buffers stand in order of time, those of
 * each are the ones that it has alone. Prefixes are copied. Returns 0 or -ENOMEM. */
int fg_report_new(const struct fg_report_style *styles, uint32_t nr_styles, uint32_t header,
                  struct fg_merge *merge, struct fg_report **report);
void fg_report_free(struct fg_report *report);

/* Replaces `text` by the next lines, at least `bytes` of them if there are so many: 1, or 0 when these are
 * the last. On an error, as fg_merge_next returns them, `text` holds the lines before it. */
int fg_report_next(struct fg_report *report, struct fg_text *text, size_t bytes);

#endif
