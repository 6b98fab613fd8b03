/* The clocks that a trace can have. Records have ticks, which are converted to CLOCK_MONOTONIC. For
 * another clock, the recorder reads both clocks at the beginning and from time to time. The straight line
 * from the first of these pairs to the last converts one to the other. */
#ifndef FG_TRACE_CLOCK_H
#define FG_TRACE_CLOCK_H

#include <stdint.h>

/* X(enum name, the kernel's name, clockid_t). In the kernel, the local clock may differ between
 * processors, and the global clock may not. Here both are CLOCK_MONOTONIC, which does not. */
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

/* Indexed by enum fg_trace_clock. */
extern const char *const fg_trace_clock_names[FG_NR_TRACE_CLOCKS];

/* Reads both clocks a few times, and returns the pair that was read in the shortest time. Any thread. */
struct fg_trace_clock_pair fg_trace_clock_read(enum fg_trace_clock clock);

#endif
