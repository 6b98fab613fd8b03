/* From clock ticks to nanoseconds of CLOCK_MONOTONIC or another clock, by ONE straight line for a whole
 * session. So the times of all processes can be compared, and no time runs backwards, as it could where
 * two pieces of a line meet. */
#ifndef FG_TIME_SCALE_H
#define FG_TIME_SCALE_H

#include <stdint.h>

#include "engine/ring/ring_layout.h"
#include "tracedata/base/trace_clock.h"

#define FG_TIME_SCALE_SHIFT 60
/* The two clocks of a pair are read some 100 ns apart, which is 1 in 100,000 of this distance between
 * pairs. */
#define FG_TIME_SCALE_CLOCK_BASE_NS UINT64_C(10000000)
/* Clocks drift by less than 1 in so many: the kernel slews one by 1 in 2,000 at most (adjtimex(2)). */
#define FG_TIME_SCALE_DRIFT 1000

struct fg_time_scale {
    uint64_t ticks;       /* this instant in ticks ... */
    uint64_t ns;          /* ... is this one in nanoseconds */
    uint64_t ns_per_tick; /* times 2^FG_TIME_SCALE_SHIFT */
};

/* The identity: ticks of a ring whose clock is CLOCK_MONOTONIC are nanoseconds. */
static inline struct fg_time_scale fg_time_scale_monotonic(void)
{
    return (struct fg_time_scale){.ns_per_tick = UINT64_C(1) << FG_TIME_SCALE_SHIFT};
}

/* The line through two pairs. Damage can make pairs that cannot be true: equal, backwards, or with a tick
 * of less than 1/16 ns or of 16 ns or more. Such pairs give a tick of 1 ns from `first` on, which keeps
 * order and counts. */
static inline struct fg_time_scale fg_time_scale_between(struct fg_clock_pair first,
                                                         struct fg_clock_pair last)
{
    struct fg_time_scale scale = fg_time_scale_monotonic();
    uint64_t ticks = last.ticks - first.ticks, ns = last.monotonic_ns - first.monotonic_ns;

    scale.ticks = first.ticks;
    scale.ns = first.monotonic_ns;
    if (last.ticks > first.ticks && last.monotonic_ns > first.monotonic_ns && ticks / 16 < ns &&
        ns / 16 < ticks)
        scale.ns_per_tick = (uint64_t)(((unsigned __int128)ns << FG_TIME_SCALE_SHIFT) / ticks);
    return scale;
}

static inline uint64_t fg_time_scale_span(const struct fg_time_scale *scale, uint64_t ticks)
{
    return (uint64_t)(((unsigned __int128)ticks * scale->ns_per_tick) >> FG_TIME_SCALE_SHIFT);
}

static inline uint64_t fg_time_scale_ns(const struct fg_time_scale *scale, uint64_t ticks)
{
    int64_t delta = (int64_t)(ticks - scale->ticks);

    /* A thread may have read the clock just before the session's first pair was read. */
    if (__builtin_expect(delta < 0, 0))
        return scale->ns - fg_time_scale_span(scale, scale->ticks - ticks);
    return scale->ns + fg_time_scale_span(scale, (uint64_t)delta);
}

/* The same ticks on another clock, where `first` and `last` are pairs of CLOCK_MONOTONIC and that clock.
 * The offset of `first` alone counts if the pairs are too close to show the drift, or show more drift
 * than clocks have: then the machine slept between them, or a clock was set. */
static inline struct fg_time_scale fg_time_scale_on_clock(struct fg_time_scale scale,
                                                          struct fg_trace_clock_pair first,
                                                          struct fg_trace_clock_pair last)
{
    const struct fg_time_scale even = fg_time_scale_monotonic();
    struct fg_time_scale clock = even;

    if (last.monotonic_ns > first.monotonic_ns &&
        last.monotonic_ns - first.monotonic_ns >= FG_TIME_SCALE_CLOCK_BASE_NS)
        clock = fg_time_scale_between((struct fg_clock_pair){first.monotonic_ns, first.clock_ns},
                                      (struct fg_clock_pair){last.monotonic_ns, last.clock_ns});
    if (clock.ns_per_tick - (even.ns_per_tick - even.ns_per_tick / FG_TIME_SCALE_DRIFT) >
        2 * (even.ns_per_tick / FG_TIME_SCALE_DRIFT))
        clock.ns_per_tick = even.ns_per_tick;
    clock.ticks = first.monotonic_ns;
    clock.ns = first.clock_ns;
    scale.ns = fg_time_scale_ns(&clock, scale.ns);
    scale.ns_per_tick = fg_time_scale_span(&clock, scale.ns_per_tick);
    return scale;
}

#endif
