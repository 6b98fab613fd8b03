/* The trace clock: the processor's time stamp counter where it is constant and never stops, else
 * CLOCK_MONOTONIC. While tracing, the length of a tick is known only roughly; readers convert ticks
 * with clock pairs. */
#ifndef FG_CLOCK_H
#define FG_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "engine/base/compiler.h"

enum fg_clock_kind { FG_CLOCK_MONOTONIC = 0, FG_CLOCK_TSC = 1 };

/* The same instant on the trace clock and on CLOCK_MONOTONIC. */
struct fg_clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

struct fg_clock {
    enum fg_clock_kind kind;
    struct fg_clock_pair start;
};

extern struct fg_clock fg_clock;

/* Reads a POSIX clock, in nanoseconds. 0: the machine has no such clock. */
static inline uint64_t fg_clock_ns_of(clockid_t clock)
{
    struct timespec now = {0, 0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline uint64_t fg_clock_monotonic_ns(void)
{
    return fg_clock_ns_of(CLOCK_MONOTONIC);
}

/* The CPU time of this thread. */
static inline uint64_t fg_clock_work_ns(void)
{
    return fg_clock_ns_of(CLOCK_THREAD_CPUTIME_ID);
}

/* On x86-64 the counter is read by the builtin of gcc and clang: <x86intrin.h>, which has a name for it,
 * would add 60,000 lines to most files.
 */

/* Ticks now. The counter is constant and never stops, so ticks of different threads can be compared. */
static inline uint64_t fg_clock_now(void)
{
#if defined(__x86_64__)
    if (fg_likely(fg_clock.kind == FG_CLOCK_TSC))
        return __builtin_ia32_rdtsc();
#endif
    return fg_clock_monotonic_ns();
}

/* Reads the processor's counter, or CLOCK_MONOTONIC where there is no counter. The read is cheap: a hook
 * does it before it knows whether the time is needed. */
static inline uint64_t fg_clock_counter(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return fg_clock_monotonic_ns();
#endif
}

/* True if fg_clock_counter() reads the trace clock. */
static inline bool fg_clock_is_counter(void)
{
#if defined(__x86_64__)
    return fg_likely(fg_clock.kind == FG_CLOCK_TSC);
#else
    return true;
#endif
}

/* The ticks at the moment when fg_clock_counter() returned @counter. */
static inline uint64_t fg_clock_then(uint64_t counter)
{
    return fg_clock_is_counter() ? counter : fg_clock_monotonic_ns();
}

/* Chooses the clock and takes the first pair. Idempotent. */
void fg_clock_init(void);

/* The same instant on both clocks, as close as a few tries get them. */
struct fg_clock_pair fg_clock_read_pair(void);

/* Measures the length of a tick over the time since the clock's start. Waits up to 200 us if that time is
 * too short to measure. */
double fg_clock_ns_per_tick(void);

/* Converts ticks to a time of CLOCK_MONOTONIC. The same ticks give the same time on every call. */
uint64_t fg_clock_to_ns(uint64_t ticks);
/* Converts a duration in ticks to nanoseconds. Callbacks may call it. */
uint64_t fg_clock_duration_ns(uint64_t ticks);

#endif
