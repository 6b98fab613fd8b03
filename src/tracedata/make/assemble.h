/* Makes a trace.dat file of a `.fg` trace. */
#ifndef FG_ASSEMBLE_H
#define FG_ASSEMBLE_H

#include <stdbool.h>

#include "tracedata/base/codec.h"
#include "tracedata/read/fg/recorded.h"

/* Which trace.dat. */
struct fg_trace_dat_format {
    int version;                  /* 6 or 7 */
    const struct fg_codec *codec; /* of version 7; version 6 has none */
    bool values_are_texts;        /* also those that are all numbers: formats do not depend on the trace */
};

/**
 * fg_assemble() - Write a trace as a trace.dat file.
 * @path: without symbolic links
 * @format: the version of the file
 * @reading: counts what is read, and may end it; NULL: nobody counts
 * @damaged_at: set to the offset of the first damaged chunk, whose events count as lost; 0: there is none
 *
 * There is a whole trace or none, and an older file at @path stays until then (new_file.h).
 *
 * Return: 0; -EISDIR or -ENOTSUP: @path is a folder, a device or the like; -ELOOP, -EACCES: as
 * fg_output_check(); or another negative errno (-ENOSPC, -EIO, ...), after which the call may be repeated.
 */
int fg_assemble(const struct fg_recorded *recorded, const char *path,
                const struct fg_trace_dat_format *format, struct fg_reading *reading, uint64_t *damaged_at);

/* The same into an empty file that is open for reading and writing. After an error it has a part of the
 * trace. */
int fg_assemble_into(const struct fg_recorded *recorded, int fd, const struct fg_trace_dat_format *format,
                     struct fg_reading *reading, uint64_t *damaged_at);

#endif
