/* The columns of the function_graph layout left of the calls: time, lane, task, duration. */
#ifndef FG_GRAPH_COLUMNS_H
#define FG_GRAPH_COLUMNS_H

#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/name_table.h"
#include "tracedata/text/report_style.h"

struct fg_graph_columns {
    const struct fg_report_style *style;
    const struct fg_name_table *names;
    unsigned lane_digits; /* of the highest lane number */
};

/* For a buffer with `nr_lanes` lanes. */
void fg_graph_columns_init(struct fg_graph_columns *columns, const struct fg_report_style *style,
                           const struct fg_name_table *names, uint32_t nr_lanes);

/* The two header lines that name the columns. */
void fg_graph_put_header(struct fg_text *text, const struct fg_graph_columns *columns);

/* Time, lane and task, with which every line of an event begins. */
void fg_graph_put_prefix(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_event *event);
/* The duration with its mark, or as many blanks. */
void fg_graph_put_duration(struct fg_text *text, const struct fg_graph_columns *columns,
                           uint64_t duration_ns);
void fg_graph_put_no_duration(struct fg_text *text, const struct fg_graph_columns *columns);

/* " 0) " */
void fg_graph_put_lane(struct fg_text *text, const struct fg_graph_columns *columns, uint32_t lane);
/* "   work-69    ": at most seven characters of the name, centred in 14 columns. */
void fg_graph_put_task(struct fg_text *text, const struct fg_graph_columns *columns, uint32_t task);

#endif
