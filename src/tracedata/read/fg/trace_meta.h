/* The trace's own JSON: what trace.dat has no place for. It lies after the last lane's data; the footer
 * (wire.h) says where. docs/reference/trace-file.md has the same list. Its members:
 *
 *     version      1
 *     functions    [module, qualname, file, line, flags (enum fg_func_flags), [argument names]], by index
 *     event_types  [system, name, where the fields begin, "TYPE NAME COUNT OFFSET;..."], by number: see
 *                  event_table.h
 *     tasks        {lane, pid, tid, name, process (index), first_ns, last_ns, records (number of events)}
 *     clock        its name
 *     buffers      names of the instances, first "", the top one: lane l belongs to buffer l / cpus
 *     cpus         lanes of each buffer
 *     processes    for each buffer of each process: {pid, ppid, buffer (index), argv, lost, overrun,
 *                  waits, wait_ns, killed (text or null), finished}; in a merged trace also {host (its name),
 *                  host_error_ns (how far off its times may be; null: not known)}
 *     lost, overrun, waits, wait_ns, events
 *                  totals; each damaged place of the spool counts as one lost record
 *
 * `funcgraph record` adds funcgraph (its version), tracer, options, command, exit_status. */
#ifndef FG_TRACE_META_H
#define FG_TRACE_META_H

#include "tracedata/base/text.h"
#include "tracedata/read/fg/lanes.h"
#include "tracedata/spool/contents.h"

/* Appends one JSON object: the members of `extra`, the text of a JSON object, and then the trace's own,
 * which win where names are equal. It lists the functions from @first_function on. json->failed is set if
 * memory is short. */
void fg_trace_meta_build(struct fg_text *json, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, size_t first_function, const char *extra,
                         size_t extra_bytes);

/* Appends one of `functions`. */
void fg_trace_meta_put_function(struct fg_text *json, const struct fg_trace_function *function);

/* The same for a part of a trace: the functions and kinds of events from these numbers on, and no members of
 * others. */
void fg_trace_meta_build_from(struct fg_text *json, const struct fg_contents *contents,
                              const struct fg_lanes *lanes, size_t first_function, size_t first_event);

#endif
