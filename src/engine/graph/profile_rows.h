/* What a task counts of each function for one function profile: rows by function id that only its own
 * thread writes, and the two steps that nearly every call is.
 *
 *     fg_profile_cursor      +---------------------------+
 *     | rows          | ---> | hit | time | squares |    |  function 0
 *     | nr_rows       |      | hit | time | squares |    |  function 1
 *     | since         |      | ...                       |
 *
 * They are reserved by powers of two and touched only as used. Whoever reads them, or makes room
 * for more, holds the engine's lock. Each word is whole whenever it is read; those of a row may be
 * one call apart. */
#ifndef FG_PROFILE_ROWS_H
#define FG_PROFILE_ROWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/task.h"

struct fg_profile_row {
    _Atomic uint64_t hit;  /* calls that began */
    _Atomic uint64_t time; /* of those that ended, in the profile's unit */
    /* Of their times, one by one. Such a sum leaves 64 bits within seconds; what a double rounds off is
     * far below what the clock does. */
    _Atomic double squares;
    uint64_t unused; /* a row never lies in two cache lines */
};

/* There is a row for that function. */
static inline bool fg_profile_has(const struct fg_profile_cursor *cursor, uint32_t func)
{
    return fg_likely(func < cursor->nr_rows);
}

/* A call began. False, and nothing is counted: it is the first of this function in this thread. */
static inline bool fg_profile_begin(struct fg_profile_row *row)
{
    uint64_t hit = atomic_load_explicit(&row->hit, memory_order_relaxed);

    if (fg_unlikely(!hit))
        return false;
    atomic_store_explicit(&row->hit, hit + 1, memory_order_relaxed);
    return true;
}

static inline void fg_profile_end(struct fg_profile_row *row, uint64_t time)
{
    double length = (double)(int64_t)time; /* as signed: one instruction */

    atomic_store_explicit(&row->time, atomic_load_explicit(&row->time, memory_order_relaxed) + time,
                          memory_order_relaxed);
    atomic_store_explicit(&row->squares,
                          atomic_load_explicit(&row->squares, memory_order_relaxed) + length * length,
                          memory_order_relaxed);
}

#endif
