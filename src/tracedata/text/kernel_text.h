/* The lines of a kernel's trace, as `trace-cmd report` prints them:
 *
 *             work-63    [001]     3.353902: funcgraph_entry:      ! 477.853 us |  mutex_unlock();
 *
 * Calls are printed here. The text of any other event follows from the event's own format, which Python
 * knows: it is left out, and its place, a hole, is noted with the record. */
#ifndef FG_KERNEL_TEXT_H
#define FG_KERNEL_TEXT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/text/report_style.h"

struct fg_kernel_hole {
    size_t at;                   /* in the text */
    uint32_t id;                 /* of the event */
    size_t record, record_bytes; /* in `records` */
};

struct fg_kernel_holes {
    struct fg_kernel_hole *holes;
    size_t n, capacity;
    struct fg_text records;
};

void fg_kernel_holes_free(struct fg_kernel_holes *holes);

/* "cpus=2" */
void fg_kernel_text_header(struct fg_text *text, const struct fg_trace_file *file);

/* Appends the lines of an event; of a call without callees those of its end too. Return: as
 * fg_merge_next(). */
int fg_kernel_text_event(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                         const struct fg_event *event, struct fg_kernel_holes *holes);

#endif
