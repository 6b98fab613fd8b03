/* See hist_cell.h. */
#include "engine/hist/hist_cell.h"

#include "engine/base/compiler.h"

#define EMPTY 0u
#define CHANGES 1u
#define SET 2u
#define STATES 3u /* the bits of these */
#define WAITS 1000u

/* @allowed: a bit for each state, EMPTY or SET, in which it may be. Returns the state before; CHANGES: the
 * cell is not ours. */
static uint64_t begin(_Atomic uint64_t *cell, uint64_t allowed)
{
    uint64_t state = atomic_load_explicit(cell, memory_order_relaxed);

    for (unsigned i = 0; (state & STATES) == CHANGES && i < WAITS; i++) {
        fg_pause();
        state = atomic_load_explicit(cell, memory_order_relaxed);
    }
    do {
        if (!(allowed >> (state & STATES) & 1))
            return CHANGES;
        /* acquire: pairs with end() of whoever changed it before */
    } while (!atomic_compare_exchange_weak_explicit(cell, &state, (state & ~(uint64_t)STATES) | CHANGES,
                                                    memory_order_acquire, memory_order_relaxed));
    return state;
}

static void end(_Atomic uint64_t *cell, uint64_t before, uint64_t now)
{
    /* release: pairs with the acquires in begin() and fg_hist_cell_read() */
    atomic_store_explicit(cell, ((before & ~(uint64_t)STATES) + STATES + 1) | now, memory_order_release);
}

bool fg_hist_cell_put(_Atomic uint64_t *cell, const uint64_t *words, uint32_t n)
{
    uint64_t state = begin(cell, 1u << EMPTY | 1u << SET);

    if (state == CHANGES)
        return false;
    /* release: a reader that sees a word sees that the state has changed */
    for (uint32_t i = 0; i < n; i++)
        atomic_store_explicit(&cell[1 + i], words[i], memory_order_release);
    end(cell, state, SET);
    return true;
}

bool fg_hist_cell_take(_Atomic uint64_t *cell, uint64_t *words, uint32_t n)
{
    uint64_t state = begin(cell, 1u << SET);

    if (state == CHANGES)
        return false;
    for (uint32_t i = 0; i < n; i++)
        words[i] = atomic_load_explicit(&cell[1 + i], memory_order_relaxed);
    end(cell, state, EMPTY);
    return true;
}

enum fg_hist_cell_read fg_hist_cell_read(_Atomic uint64_t *cell, uint64_t *words, uint32_t n)
{
    uint64_t state = atomic_load_explicit(cell, memory_order_acquire);

    if ((state & STATES) == EMPTY)
        return FG_HIST_CELL_EMPTY;
    if ((state & STATES) == CHANGES)
        return FG_HIST_CELL_CHANGES;
    for (uint32_t i = 0; i < n; i++)
        words[i] = atomic_load_explicit(&cell[1 + i], memory_order_acquire);
    return atomic_load_explicit(cell, memory_order_relaxed) == state ? FG_HIST_CELL_SET
                                                                     : FG_HIST_CELL_CHANGES;
}
