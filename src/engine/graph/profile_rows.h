/* A task's counts for one function profile: rows by function id, which only the task's thread writes, and
 * the steps of an entry and a return.
 *
 *     fg_profile_cursor      +---------------------------+
 *     | rows          | ---> | hit | time | squares |    |  function 0
 *     | nr_rows       |      | hit | time | squares |    |  function 1
 *     | since         |      | ...                       |
 *
 * Rows are reserved by powers of two, and touched only as used. Whoever reads them, or makes room
 * for more, holds the lock of rows (profile_data.h). A reader sees each word whole, but the words of a
 * row may be one call apart. */
#ifndef FG_PROFILE_ROWS_H
#define FG_PROFILE_ROWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/task.h"

struct fg_profile_row {
    _Atomic uint64_t hit;  /* calls that began */
    _Atomic uint64_t time; /* sum of the times of calls that ended, in the profile's unit */
    /* Sum of the squares of these times. It would overflow 64 bits within seconds. A double's rounding
     * error is far below the clock's error. */
    _Atomic double squares;
    uint64_t unused; /* so that no row lies in two cache lines */
};

/* True if there is a row for @func. */
static inline bool fg_profile_has(const struct fg_profile_cursor *cursor, uint32_t func)
{
    return fg_likely(func < cursor->nr_rows);
}

/* Counts a call that begins. False: nothing was counted, as it is the function's first call
 * in this thread. */
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
    double length = (double)(int64_t)time; /* signed: the conversion is one instruction */

    atomic_store_explicit(&row->time, atomic_load_explicit(&row->time, memory_order_relaxed) + time,
                          memory_order_relaxed);
    atomic_store_explicit(&row->squares,
                          atomic_load_explicit(&row->squares, memory_order_relaxed) + length * length,
                          memory_order_relaxed);
}

#endif
