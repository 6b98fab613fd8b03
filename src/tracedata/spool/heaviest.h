/* Which functions make most of a spool: found by a sample of its sub-buffers, so that recording itself need
 * not count. */
#ifndef FG_HEAVIEST_H
#define FG_HEAVIEST_H

#include "tracedata/spool/contents.h"
#include "tracedata/spool/spool.h"

struct fg_heavy {
    const struct fg_trace_function *function;
    uint64_t bytes; /* of its records in the sample */
};

/**
 * fg_heaviest() - Find the functions with the most bytes of records.
 * @top: set to at most @n functions, the heaviest first
 * @sampled: set to the bytes of all records in the sample
 *
 * Return: how many functions @top has, or a negative errno.
 */
int fg_heaviest(const struct fg_contents *contents, const struct fg_spool *spool, struct fg_heavy *top, int n,
                uint64_t *sampled);

#endif
