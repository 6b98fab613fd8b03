/* A trace as text, line by line in order of time: in the kernel's function_graph layout, or in its
 * `function` layout for buffers of that tracer; a kernel's own trace as trace-cmd prints it. graph_text,
 * function_text and kernel_text print the lines. */
#ifndef FG_REPORT_H
#define FG_REPORT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/text/kernel_text.h"
#include "tracedata/text/report_style.h"

struct fg_report;

/**
 * fg_report_new() - Begin a report of all events of @merge.
 * @styles: a style for each of the trace's buffers; copied
 * @header: the buffer whose header is printed
 * @merge: stays the caller's, and must live as long as the report
 *
 * Lines of several buffers come in order of time. The lines of each buffer are those of a report of that
 * buffer alone.
 *
 * Return: 0 or -ENOMEM.
 */
int fg_report_new(const struct fg_report_style *styles, uint32_t nr_styles, uint32_t header,
                  struct fg_merge *merge, struct fg_report **report);
void fg_report_free(struct fg_report *report);

/* Replaces `text` by the next lines, at least `bytes` of them if so much is left. Return: 1; 0: these are
 * the last lines; or an error of fg_merge_next(), before which come the lines in `text`. */
int fg_report_next(struct fg_report *report, struct fg_text *text, size_t bytes);

/* What the latest text lacks. Of a kernel's trace only; the holes are valid until the next call of
 * fg_report_next(). */
const struct fg_kernel_holes *fg_report_holes(const struct fg_report *report);

#endif
