/* Enabling and disabling latency tracers in this interpreter: their users, and who records the inside of
 * their sections. */
#ifndef FG_CPYTHON_REGISTER_LATENCY_H
#define FG_CPYTHON_REGISTER_LATENCY_H

#include "arch/cpython/latency/latency_tracer.h"

#define FG_MAX_LATENCY_TRACERS 8

/* Who records the function graph inside sections. Nobody if both are 0. */
struct fg_latency_inside {
    size_t bytes; /* an instance of the tracer's own, with a buffer of this size */
    int handle;   /* an existing instance; it must register after the tracer, see below */
};

/**
 * fg_cpython_latency_start - enable a latency tracer; its maximum and its longest section start afresh
 * @why: set with -ENOTSUP: what is in the way
 *
 * Return handlers run in the reverse order of registration. A section's ring is copied in the tracer's
 * return handler. So only an instance that registers after the tracer has recorded the section's last
 * return by then.
 *
 * Return: 0; -EBUSY: enabled already; -ENOTSUP: not possible with this CPython; -EINVAL: the buffer is
 * too small or too large, or there is no such instance; -ENOSPC or -ENOMEM as fgraph_register; -EIO with
 * an exception: CPython has no hook free. After an error nothing has changed.
 */
int fg_cpython_latency_start(const struct fg_latency_tracer *tracer, struct fg_latency_inside inside,
                             const char **why);

/* Disables it; the section that was kept stays. Return: 0, or -EINVAL: not enabled, or by another
 * interpreter. */
int fg_cpython_latency_stop(const struct fg_latency_tracer *tracer);

bool fg_cpython_latency_is_on(const struct fg_latency_tracer *tracer);

/* Disables all latency tracers that this interpreter enabled. */
void fg_cpython_latency_stop_all(void);

#endif
