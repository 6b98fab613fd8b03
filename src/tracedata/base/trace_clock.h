/* The clocks that a trace can have, as the kernel's file trace_clock names them. Records have ticks, which
 * are converted to CLOCK_MONOTONIC. For another clock of time, the recorder reads both clocks at the
 * beginning and from time to time. The straight line from the first of these pairs to the last converts one
 * to the other.
 *
 * Clocks with another unit than nanoseconds give the times of events only. As in the kernel, durations are
 * times in every trace: an exit's calltime and rettime are nanoseconds of CLOCK_MONOTONIC then. */
#ifndef FG_TRACE_CLOCK_H
#define FG_TRACE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The unit of a clock's times. */
enum fg_clock_unit {
    FG_UNIT_NS,
    FG_UNIT_JIFFIES, /* hundredths of a second, as the kernel shows jiffies */
    FG_UNIT_TICKS,   /* of the trace clock (clock.h): of the time stamp counter where that is it */
    FG_UNIT_COUNT,   /* the events themselves, in order of time, from 1 */
};

/* X(enum name, the kernel's name, clockid_t, unit). In the kernel, the local clock (perf's too) may differ
 * between processors, and the global clock may not. Here all are CLOCK_MONOTONIC, which does not. */
#define FG_TRACE_CLOCKS(X)                                                                                   \
    X(LOCAL, "local", CLOCK_MONOTONIC, FG_UNIT_NS)                                                           \
    X(GLOBAL, "global", CLOCK_MONOTONIC, FG_UNIT_NS)                                                         \
    X(COUNTER, "counter", CLOCK_MONOTONIC, FG_UNIT_COUNT)                                                    \
    X(UPTIME, "uptime", CLOCK_MONOTONIC, FG_UNIT_JIFFIES)                                                    \
    X(PERF, "perf", CLOCK_MONOTONIC, FG_UNIT_NS)                                                             \
    X(MONO, "mono", CLOCK_MONOTONIC, FG_UNIT_NS)                                                             \
    X(MONO_RAW, "mono_raw", CLOCK_MONOTONIC_RAW, FG_UNIT_NS)                                                 \
    X(BOOT, "boot", CLOCK_BOOTTIME, FG_UNIT_NS)                                                              \
    X(TAI, "tai", CLOCK_TAI, FG_UNIT_NS)                                                                     \
    X(X86_TSC, "x86-tsc", CLOCK_MONOTONIC, FG_UNIT_TICKS)

#define FG_JIFFY_NS UINT64_C(10000000)

enum fg_trace_clock {
#define X(id, name, clock, unit) FG_TRACE_CLOCK_##id,
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

enum fg_clock_unit fg_trace_clock_unit(enum fg_trace_clock clock);
/* The same, by the name that is in brackets in @text, as in the kernel's file trace_clock. FG_UNIT_NS:
 * there is none, or it is unknown. */
enum fg_clock_unit fg_trace_clock_unit_in(const char *text);

/* Reads both clocks a few times, and returns the pair that was read in the shortest time. Any thread. */
struct fg_trace_clock_pair fg_trace_clock_read(enum fg_trace_clock clock);
/* The same for any clock of the system. */
struct fg_trace_clock_pair fg_trace_clock_read_id(clockid_t id);

#endif
