/* How much address space the engine reserves in a process that has a limit of it. */
#ifndef FG_ADDRESS_SPACE_H
#define FG_ADDRESS_SPACE_H

#include <stddef.h>
#include <sys/resource.h>

/**
 * fg_address_space_share() - Reduce a reservation to a share of the process's limit (RLIMIT_AS).
 * @bytes: what is reserved without a limit
 * @part: one in @part of the limit may be reserved; a power of two
 *
 * The traced program needs the rest: a mapping of ours must not make one of its own fail.
 *
 * Return: @bytes, or less.
 */
static inline size_t fg_address_space_share(size_t bytes, unsigned part)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
        limit.rlim_cur / part >= bytes)
        return bytes;
    return (size_t)(limit.rlim_cur / part);
}

#endif
