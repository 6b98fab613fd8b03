/* See trace_clock.h. */
#define _GNU_SOURCE
#include "tracedata/base/trace_clock.h"

#include <time.h>

#include "engine/core/clock.h"

#define TRIES 8

const char *const fg_trace_clock_names[FG_NR_TRACE_CLOCKS] = {
#define X(id, name, clock) name,
    FG_TRACE_CLOCKS(X)
#undef X
};

static const clockid_t clock_ids[FG_NR_TRACE_CLOCKS] = {
#define X(id, name, clock) clock,
    FG_TRACE_CLOCKS(X)
#undef X
};

struct fg_trace_clock_pair fg_trace_clock_read(enum fg_trace_clock clock)
{
    struct fg_trace_clock_pair best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = fg_clock_ns_of(CLOCK_MONOTONIC);
        uint64_t clock_ns = fg_clock_ns_of(clock_ids[clock]);
        uint64_t took = fg_clock_ns_of(CLOCK_MONOTONIC) - before;

        if (took < shortest) {
            shortest = took;
            best.monotonic_ns = before + took / 2;
            best.clock_ns = clock_ids[clock] == CLOCK_MONOTONIC ? best.monotonic_ns : clock_ns;
        }
    }
    return best;
}
