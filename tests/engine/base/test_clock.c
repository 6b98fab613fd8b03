/* Tick conversion agrees with CLOCK_MONOTONIC, is monotonic, and never changes for a given tick count.
 *
 * Fails if the length of a tick is measured again for each conversion. Fails if a new piece of the
 * conversion starts at the real time instead of where the previous piece ends. */
#include <unistd.h>

#include "engine/base/clock.h"
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
        /* Skips a sample if the thread was preempted between the two clocks. */
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
