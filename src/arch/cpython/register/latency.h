/* Enabling and disabling latency tracers in this interpreter: registering their users, and choosing the
 * instance that records the inside of their sections. */
#ifndef FG_CPYTHON_REGISTER_LATENCY_H
#define FG_CPYTHON_REGISTER_LATENCY_H

#include "arch/cpython/latency/latency_tracer.h"

#define FG_MAX_LATENCY_TRACERS 8

/* Where else a tracer writes what it finds. 0: nowhere. */
struct fg_latency_output {
    /* The instance that records the function graph inside sections: the size of the buffer of one of the
     * tracer's own, or the handle of an existing one, which must register after the tracer, see below. */
    size_t inside_bytes;
    int inside;
    int instance;  /* handle of an instance that gets a text for each section that is kept */
    bool is_cheap; /* leave out the user that looks at all calls (fg_latency_user.c_calls) */
};

/**
 * fg_cpython_latency_start - enable a latency tracer; its maximum and its longest section start afresh
 * @why: set with -ENOTSUP: why the tracer cannot be enabled
 *
 * Return handlers run in the reverse order of registration, and the tracer's return handler copies the
 * section's ring. An instance that registers after the tracer runs first, so it has recorded the
 * section's last return by then. One that registered earlier has not.
 *
 * Return: 0; -EBUSY: enabled already; -ENOTSUP: not possible with this CPython; -EINVAL: the buffer size
 * is out of range, or there is no such instance; -ENOSPC or -ENOMEM as fgraph_register; -EIO with an
 * exception: CPython has no free hook. After an error nothing has changed.
 */
int fg_cpython_latency_start(const struct fg_latency_tracer *tracer, struct fg_latency_output output,
                             const char **why);

/* Disables a latency tracer; the section that it kept stays. Return: 0, or -EINVAL: not enabled, or
 * enabled by another interpreter. */
int fg_cpython_latency_stop(const struct fg_latency_tracer *tracer);

/* Disables the latency tracer that tells the instance, if there is one. */
void fg_cpython_latency_stop_of(int handle);

bool fg_cpython_latency_is_on(const struct fg_latency_tracer *tracer);

/* Disables all latency tracers that this interpreter enabled. */
void fg_cpython_latency_stop_all(void);

#endif
