/* Clock ticks to CLOCK_MONOTONIC nanoseconds: ONE straight line for a whole session, so that times of all
 * its processes compare and no time runs backwards where two pieces of a line would meet. */
#ifndef FG_TIME_SCALE_H
#define FG_TIME_SCALE_H

#include "../engine/ring_layout.h"
#include <stdint.h>

#define FG_TIME_SCALE_SHIFT 60

struct fg_time_scale {
    uint64_t ticks;       /* this instant in ticks ... */
    uint64_t ns;          /* ... is this one in nanoseconds */
    uint64_t ns_per_tick; /* times 2^FG_TIME_SCALE_SHIFT */
};

/* The identity, for rings whose clock counts nanoseconds of CLOCK_MONOTONIC. */
static inline struct fg_time_scale fg_time_scale_monotonic(void)
{
    return (struct fg_time_scale){.ns_per_tick = UINT64_C(1) << FG_TIME_SCALE_SHIFT};
}

/* The line through two pairs. Pairs that cannot be true (equal, backwards, or a tick shorter than 1/16 ns or
 * as long as 16 ns, as damage makes them) give a tick of 1 ns from `first` on: order and counts stay. */
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

    /* A thread may have read its clock just before the session's first pair was taken. */
    if (__builtin_expect(delta < 0, 0))
        return scale->ns - fg_time_scale_span(scale, scale->ticks - ticks);
    return scale->ns + fg_time_scale_span(scale, (uint64_t)delta);
}

#endif
