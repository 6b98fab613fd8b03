/* The head of a trace.dat file of version 6: the machine, the formats of events, the names of functions
 * and tasks, options, and the table of where each lane's data lies.
 *
 *     magic, version, endianness, long size, page size
 *     "header_page", "header_event": the layout of data pages
 *     formats of the ftrace events, then of other systems'
 *     kallsyms, printk formats (none), cmdlines
 *     number of CPUs (lanes of a buffer), "options"
 *     the top instance's buffer: "flyrecord", per lane: u64 offset, u64 bytes; the clock's name
 *     the other buffers, in the same way: an option has the offset and name of each
 *
 * The order is that of trace-cmd's manual page trace.dat.v6(5). It does not describe buffers; those here
 * are as trace-cmd 3.1 writes them. */
#ifndef FG_TRACE_HEAD_H
#define FG_TRACE_HEAD_H

#include "tracedata/base/text.h"
#include "tracedata/read/lanes.h"
#include "tracedata/spool/contents.h"
#include <stddef.h>

struct fg_lane_extent {
    uint64_t offset;
    uint64_t bytes;
};

/* Appends the head, with zeros for the tables of lanes. text->failed is set if memory is short. */
void fg_trace_head_build(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes);

/* Fills in the tables of lanes, with which the head ends: `extents` has an element for each lane. */
void fg_trace_head_set_extents(struct fg_text *text, const struct fg_contents *contents,
                               const struct fg_lanes *lanes, const struct fg_lane_extent *extents);

#endif
