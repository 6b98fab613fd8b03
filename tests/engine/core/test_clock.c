/* Ticks become nanoseconds that agree with CLOCK_MONOTONIC, grow with the ticks, and never change.
 *
 * Broken by hand: the length of a tick was measured anew for each conversion, as it once was; a new piece
 * began with the real time and not where the one before ends. */
#include <unistd.h>

#include "engine/core/clock.h"
#include "support/check.h"

#define NR_TICKS 2000

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

int main(void)
{
    static uint64_t ticks[NR_TICKS], ns[NR_TICKS];

    fg_clock_init();
    for (int i = 0; i < NR_TICKS; i++) {
        uint64_t before = fg_clock_monotonic_ns();

        ticks[i] = fg_clock_now();
        ns[i] = fg_clock_to_ns(ticks[i]);
        /* Being scheduled away between the two counts for neither side. */
        if (fg_clock_monotonic_ns() - before < 20000 && i)
            CHECK(distance(ns[i], before) < 100000);
        usleep((unsigned)i % 100);
    }
    for (int i = 1; i < NR_TICKS; i++)
        CHECK(ns[i] > ns[i - 1]);
    for (int i = 0; i < NR_TICKS; i++)
        CHECK(fg_clock_to_ns(ticks[i]) == ns[i]);
    return 0;
}
