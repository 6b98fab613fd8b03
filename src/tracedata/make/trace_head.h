/* All that lies before the data in a trace.dat file of version 6: what machine wrote it, the events' formats,
 * the names of functions and tasks, options, and the table that says where each lane's data lies.
 *
 *     magic, version, endianness, long size, page size
 *     "header_page", "header_event": the layout of data pages
 *     formats of the ftrace events, then of other systems'
 *     kallsyms, printk formats (none), cmdlines
 *     number of CPUs (lanes of a buffer), "options"
 *     the top instance's buffer: "flyrecord", per lane: u64 offset, u64 bytes; the clock's name
 *     the other buffers, in the same way: each is found by an option that says its offset and name
 *
 * The order is that of trace-cmd's trace.dat.v6(5) manual page. That does not speak of buffers; what is here is
 * what trace-cmd 3.1 writes.
 */
#ifndef FG_TRACE_HEAD_H
#define FG_TRACE_HEAD_H

#include "tracedata/base/text.h"
#include "tracedata/make/lanes.h"
#include "tracedata/spool/contents.h"
#include <stddef.h>

struct fg_lane_extent {
    uint64_t offset;
    uint64_t bytes;
};

/* Appends the head, with room for the tables of lanes. text->failed tells of missing memory. */
void fg_trace_head_build(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes);

/* Fills in the tables, which are what the head ends with: `extents` of all lanes. */
void fg_trace_head_set_extents(struct fg_text *text, const struct fg_contents *contents,
                               const struct fg_lanes *lanes, const struct fg_lane_extent *extents);

#endif
