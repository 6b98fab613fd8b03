/* The table of the latency tracers. */
#include "arch/cpython/latency/latency_tracer.h"

const struct fg_latency_tracer *const fg_latency_tracers[] = {&fg_tracer_loopblock, &fg_tracer_wakeup,
                                                              &fg_tracer_gilwait, NULL};
