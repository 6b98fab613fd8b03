/* See real_time.h. */
#define _GNU_SOURCE
#include "tracedata/base/real_time.h"

#include <sys/timex.h>

#define NS_PER_US 1000u

/* In a container without the right to ask, and where nothing synchronises the clock, nobody knows. */
static uint64_t error_ns(void)
{
    struct timex kernel = {0};
    int state = adjtimex(&kernel);

    if (state < 0 || state == TIME_ERROR || kernel.maxerror < 0)
        return FG_REAL_TIME_ERROR_UNKNOWN;
    return (uint64_t)kernel.maxerror * NS_PER_US;
}

struct fg_real_time fg_real_time_read(void)
{
    return (struct fg_real_time){.pair = fg_trace_clock_read_id(CLOCK_REALTIME), .error_ns = error_ns()};
}
