/* See trace_clock.h. */
#define _GNU_SOURCE
#include "tracedata/base/trace_clock.h"

#include <string.h>
#include <time.h>

#include "engine/base/clock.h"

#define TRIES 8

const char *const fg_trace_clock_names[FG_NR_TRACE_CLOCKS] = {
#define X(id, name, clock, unit) name,
    FG_TRACE_CLOCKS(X)
#undef X
};

static const clockid_t clock_ids[FG_NR_TRACE_CLOCKS] = {
#define X(id, name, clock, unit) clock,
    FG_TRACE_CLOCKS(X)
#undef X
};

static const enum fg_clock_unit units[FG_NR_TRACE_CLOCKS] = {
#define X(id, name, clock, unit) unit,
    FG_TRACE_CLOCKS(X)
#undef X
};

enum fg_clock_unit fg_trace_clock_unit(enum fg_trace_clock clock)
{
    return units[clock];
}

enum fg_clock_unit fg_trace_clock_unit_in(const char *text)
{
    const char *begin = strchr(text, '['), *end = begin ? strchr(begin, ']') : NULL;

    for (int i = 0; end && i < FG_NR_TRACE_CLOCKS; i++) {
        const char *name = fg_trace_clock_names[i];

        if (strlen(name) == (size_t)(end - begin - 1) && strncmp(name, begin + 1, strlen(name)) == 0)
            return units[i];
    }
    return FG_UNIT_NS;
}

struct fg_trace_clock_pair fg_trace_clock_read_id(clockid_t id)
{
    struct fg_trace_clock_pair best = {0};
    uint64_t shortest = UINT64_MAX;

    for (int i = 0; i < TRIES; i++) {
        uint64_t before = fg_clock_ns_of(CLOCK_MONOTONIC);
        uint64_t clock_ns = fg_clock_ns_of(id);
        uint64_t took = fg_clock_ns_of(CLOCK_MONOTONIC) - before;

        if (took < shortest) {
            shortest = took;
            best.monotonic_ns = before + took / 2;
            best.clock_ns = id == CLOCK_MONOTONIC ? best.monotonic_ns : clock_ns;
        }
    }
    return best;
}

struct fg_trace_clock_pair fg_trace_clock_read(enum fg_trace_clock clock)
{
    return fg_trace_clock_read_id(clock_ids[clock]);
}
