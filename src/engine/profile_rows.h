/* What a task counts of each function for one function profile: rows that only its own thread writes and anyone may read
 * at any time, and the two steps that nearly every call is.
 *
 *     fg_profile_task           a page: rows of 128 functions
 *     +----------------+        +---------------------------+
 *     | pages[0]       | -----> | hit | time | squares |    |  function 0
 *     | pages[1]  NULL |        | ...                       |
 *     | ...            |        +---------------------------+
 *     +----------------+
 *
 * By function id, reserved large and touched only as used. Each word is whole whenever it is read; those of a row may be
 * one call apart. */
#ifndef FG_PROFILE_ROWS_H
#define FG_PROFILE_ROWS_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "task.h"

struct fg_profile_row {
    _Atomic uint64_t hit;  /* calls that began */
    _Atomic uint64_t time; /* of those that ended, in the profile's unit */
    /* Of their times, one by one. Such a sum leaves 64 bits within seconds; what a double rounds off is far below what
     * the clock does. */
    _Atomic double squares;
    uint64_t unused; /* a row never lies in two cache lines */
};

#define FG_PROFILE_PAGE_BYTES 4096u
#define FG_PROFILE_PAGE_ROWS (FG_PROFILE_PAGE_BYTES / sizeof(struct fg_profile_row))
#define FG_PROFILE_PAGES (1u << 16) /* 8,388,608 functions; what comes later is missed, and counted */

struct fg_profile_task {
    struct fg_profile_task *next;
    int tid;
    uint32_t nr_pages; /* all that are there come before; engine's lock */
    _Atomic(struct fg_profile_row *) pages[FG_PROFILE_PAGES];
};

/* Of the calling thread, or NULL: there is none yet. `task` may be NULL. */
static inline struct fg_profile_row *fg_profile_row(struct fg_profile_task *task, uint32_t func)
{
    size_t page = func / FG_PROFILE_PAGE_ROWS;
    struct fg_profile_row *rows = NULL;

    if (fg_likely(task && page < FG_PROFILE_PAGES))
        rows = atomic_load_explicit(&task->pages[page], memory_order_relaxed);
    return fg_likely(rows != NULL) ? rows + func % FG_PROFILE_PAGE_ROWS : NULL;
}

/* A function whose name is known (function_profile.c): somebody has counted a call of it here before. */
static inline bool fg_profile_is_known(struct fg_profile_row *row)
{
    return fg_likely(row && atomic_load_explicit(&row->hit, memory_order_relaxed));
}

static inline void fg_profile_begin(struct fg_profile_row *row)
{
    atomic_store_explicit(&row->hit, atomic_load_explicit(&row->hit, memory_order_relaxed) + 1,
                          memory_order_relaxed);
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
