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

#include <stddef.h>

#include "tracedata/base/text.h"
#include "tracedata/make/dat_events.h"
#include "tracedata/read/fg/lanes.h"
#include "tracedata/spool/contents.h"

struct fg_lane_extent {
    uint64_t offset;
    uint64_t bytes;
};

/* What the head has between its first bytes and the number of CPUs, in this order. In version 7 each part is
 * a section of its own. */
enum fg_trace_head_part {
    FG_HEAD_PAGE_LAYOUT,
    FG_HEAD_FTRACE_FORMATS,
    FG_HEAD_OTHER_FORMATS,
    FG_HEAD_KALLSYMS,
    FG_HEAD_PRINTK,
    FG_HEAD_CMDLINES,
};
#define FG_NR_HEAD_PARTS 6

/* Append a piece of the head, in either version: its first bytes, one part, the text of the clock. */
void fg_trace_head_begin(struct fg_text *text, const char *version);
void fg_trace_head_put(struct fg_text *text, enum fg_trace_head_part part, const struct fg_contents *contents,
                       const struct fg_lanes *lanes, const struct fg_dat_events *events);
/* Append what the kernel's files events/header_page and events/header_event have. */
void fg_put_header_page(struct fg_text *text);
void fg_put_header_event(struct fg_text *text);
/* As in the kernel's file trace_clock: the clock in use has brackets. */
void fg_trace_head_put_clock(struct fg_text *text, enum fg_trace_clock clock);

/* Appends the head of version 6, with zeros for the tables of lanes. text->failed is set if memory is
 * short. */
void fg_trace_head_build(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, const struct fg_dat_events *events);

/* Fills in the tables of lanes, with which the head ends: `extents` has an element for each lane. */
void fg_trace_head_set_extents(struct fg_text *text, const struct fg_contents *contents,
                               const struct fg_lanes *lanes, const struct fg_lane_extent *extents);

#endif
