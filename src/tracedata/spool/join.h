/* Joins traces to one: the chunks of each, with the rings numbered on. A trace of several hosts gets their
 * times on one line, by a HOST chunk for each ring (chunk.h). */
#ifndef FG_JOIN_H
#define FG_JOIN_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/reading.h"
#include "tracedata/spool/chunk.h"

/* A trace that becomes part of another. */
struct fg_join_part {
    int fd;
    const char *host_name;     /* NULL: the whole trace is of one host */
    struct fg_spool_host host; /* name_bytes is filled in */
};

struct fg_joined {
    uint64_t records;
    uint64_t damaged; /* places of the parts that are not as they were written: what was there is missing */
};

/**
 * fg_join() - Write a trace of the parts.
 * @meta: its description, a JSON object
 * @path: of the trace, which appears when it is whole; an existing file is replaced
 * @reading: counts what is read, and may end it; NULL: nobody counts
 *
 * The memory that it needs does not depend on the records. Damaged chunks are left out, and the
 * records that they had count as lost.
 *
 * Return: 0; -EINVAL: a part is no `.fg`; -ENOSPC: all together have too many rings; or another negative
 * errno, and there is no trace. @failed: the part that an error is about; nr_parts: none.
 */
int fg_join(const struct fg_join_part *parts, size_t nr_parts, const char *meta, size_t meta_bytes,
            const char *path, struct fg_reading *reading, struct fg_joined *joined, size_t *failed);

#endif
