/* The kernel's `function` layout without the column of interrupt flags:
 *
 *             work-69      [000]     5.473396: parse <-main
 */
#ifndef FG_FUNCTION_TEXT_H
#define FG_FUNCTION_TEXT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/text/report_style.h"

void fg_function_text_header(struct fg_text *text, const struct fg_report_style *style, uint32_t nr_cpus);

/* Prints one event; nothing for the events of the function_graph tracer. Return: 0, or an error of
 * fg_merge_next(). */
int fg_function_text_event(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                           const struct fg_event *event);

#endif
