/* The trace's own JSON: what trace.dat has no place for. It lies behind the last lane's data and is found by
 * the footer (wire.h). Its members:
 *
 *     version      1
 *     functions    [module, qualname, file, line, flags (enum fg_func_flags), [argument names]], by index
 *     tasks        {lane, pid, tid, name, process (index), first_ns, last_ns, records (events in the lane)}
 *     clock        its name
 *     buffers      names of the instances, "" (the top one) first: lane l is of buffer l / cpus
 *     cpus         lanes of each buffer
 *     processes    for each buffer of each process: {pid, ppid, buffer (index), argv, lost, overrun, waits, wait_ns, killed (text or null), finished}
 *     lost, overrun, waits, wait_ns, events: of all together; lost counts damaged places too, as one each
 *
 * and what the recorder adds: funcgraph (its version), tracer, options, command, exit_status. */
#ifndef FG_TRACE_META_H
#define FG_TRACE_META_H

#include "tracedata/base/text.h"
#include "tracedata/make/lanes.h"
#include "tracedata/spool/contents.h"

/* Appends one JSON object: the members of `extra` (an object's JSON text) first, then the trace's own.
 * text->failed tells of missing memory. */
void fg_trace_meta_build(struct fg_text *json, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, const char *extra);

#endif
