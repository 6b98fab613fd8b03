/* From a spool to a trace.dat file: lanes, names, conversion, all at once when a session is over. */
#ifndef FG_ASSEMBLE_H
#define FG_ASSEMBLE_H

#include "tracedata/spool/contents.h"
#include "tracedata/spool/spool.h"

/* Writes the trace to a temporary file beside `path` and renames it: there is a whole trace or none, and what
 * was at `path` before stays until then. A symbolic link is followed. `extra` is a JSON object whose members
 * join the trace's own. The spool is left as it is, so a failure (-ENOSPC, -EIO, -EACCES, ...) can be
 * retried. -EISDIR or -ENOTSUP if `path` is something that must not be replaced (a folder, a device). */
int fg_assemble(struct fg_contents *contents, const struct fg_spool *spool, const char *path,
                const char *extra);

#endif
