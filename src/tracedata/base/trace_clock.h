/* The clocks of a trace. Records have ticks, which are converted to CLOCK_MONOTONIC; for another clock the
 * recorder notes what both say, at the beginning and from time to time, and the trace is made with the straight
 * line from the first of these pairs to the last. */
#ifndef FG_TRACE_CLOCK_H
#define FG_TRACE_CLOCK_H

#include <stdint.h>

/* X(enum name, the kernel's name, clockid_t). The kernel's local and global are a processor's own clock and one
 * that is in order between processors; ours is in order in any case. */
#define FG_TRACE_CLOCKS(X)                                                                                   \
    X(MONO, "mono", CLOCK_MONOTONIC)                                                                         \
    X(BOOT, "boot", CLOCK_BOOTTIME)                                                                          \
    X(MONO_RAW, "mono_raw", CLOCK_MONOTONIC_RAW)                                                             \
    X(TAI, "tai", CLOCK_TAI)                                                                                 \
    X(LOCAL, "local", CLOCK_MONOTONIC)                                                                       \
    X(GLOBAL, "global", CLOCK_MONOTONIC)

enum fg_trace_clock {
#define X(id, name, clock) FG_TRACE_CLOCK_##id,
    FG_TRACE_CLOCKS(X)
#undef X
        FG_NR_TRACE_CLOCKS
};

/* The same instant on CLOCK_MONOTONIC and on the trace's clock. */
struct fg_trace_clock_pair {
    uint64_t monotonic_ns;
    uint64_t clock_ns;
};

/* By enum fg_trace_clock. */
extern const char *const fg_trace_clock_names[FG_NR_TRACE_CLOCKS];

/* As close as a few tries get them. */
struct fg_trace_clock_pair fg_trace_clock_read(enum fg_trace_clock clock);

#endif
