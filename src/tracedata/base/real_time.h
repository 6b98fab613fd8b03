/* What time it is elsewhere: CLOCK_REALTIME beside CLOCK_MONOTONIC, and how far it may be off. It brings
 * traces of several hosts onto one line. */
#ifndef FG_REAL_TIME_H
#define FG_REAL_TIME_H

#include <stdint.h>

#include "tracedata/base/trace_clock.h"

#define FG_REAL_TIME_ERROR_UNKNOWN UINT64_MAX

struct fg_real_time {
    struct fg_trace_clock_pair pair;
    uint64_t error_ns; /* the bound that the kernel keeps (adjtimex(2), maxerror); unknown if nothing
                        * synchronises the clock */
};

/* Any thread. */
struct fg_real_time fg_real_time_read(void);

#endif
