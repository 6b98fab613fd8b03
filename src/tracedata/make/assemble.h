/* Makes a trace.dat file of a spool. */
#ifndef FG_ASSEMBLE_H
#define FG_ASSEMBLE_H

#include "tracedata/spool/contents.h"
#include "tracedata/spool/spool.h"

/**
 * fg_assemble() - Write the trace of a spool.
 * @contents: what the spool holds; the pieces of its tasks are sorted
 * @path: a symbolic link is followed
 * @extra: text of a JSON object, whose members come before the trace's own
 *
 * There is a whole trace or none, and an older file at @path stays until then (new_file.h). The spool does
 * not change.
 *
 * Return: 0; -EISDIR or -ENOTSUP: @path is a folder, a device or the like; or another negative errno
 * (-ENOSPC, -EIO, -EACCES, ...), after which the call may be repeated.
 */
int fg_assemble(struct fg_contents *contents, const struct fg_spool *spool, const char *path,
                const char *extra);

/* The same into an empty file that is open for reading and writing. After an error it has a part of the
 * trace. */
int fg_assemble_into(struct fg_contents *contents, const struct fg_spool *spool, int fd, const char *extra);

#endif
