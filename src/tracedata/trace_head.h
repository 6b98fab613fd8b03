/* All that lies before the data in a trace.dat file of version 6: what machine wrote it, the events' formats,
 * the names of functions and tasks, options, and the table that says where each lane's data lies.
 *
 *     magic, version, endianness, long size, page size
 *     "header_page", "header_event": the layout of data pages
 *     formats of the ftrace events, then of other systems'
 *     kallsyms, printk formats (none), cmdlines
 *     number of CPUs (lanes), "options", "flyrecord", per lane: u64 offset, u64 bytes; the clock's name
 *
 * The order is that of trace-cmd's trace.dat.v6(5) manual page.
 */
#ifndef FG_TRACE_HEAD_H
#define FG_TRACE_HEAD_H

#include "contents.h"
#include "lanes.h"
#include "text.h"
#include <stddef.h>

struct fg_lane_extent {
    uint64_t offset;
    uint64_t bytes;
};

/* Appends the head, with room for the table of lanes. *table_at is where the table of `nr_lanes`
 * struct fg_lane_extent begins, from the file's beginning. text->failed tells of missing memory. */
void fg_trace_head_build(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, uint32_t nr_lanes, size_t *table_at);

#endif
