/* Turning latency tracers on and off: their users are registered, the hooks live as long as they are. */
#ifndef FG_LATENCY_REGISTRATION_H
#define FG_LATENCY_REGISTRATION_H

#include "arch/cpython/latency/latency_tracer.h"

/* Who records the function graph inside sections: an instance of the tracer's own with a buffer of so many bytes; one that
 * there is, by its handle, whose owner lets it record only when the tracer is on already (see below); or nobody (0, 0). */
struct fg_latency_inside {
    size_t bytes;
    int handle;
};

/* The maximum and what was kept begin anew. 0, or: -EBUSY: it is on already; -ENOTSUP with *why: not with this CPython; -EINVAL:
 * the buffer is too small or too large, or there is no such instance; -ENOSPC, -ENOMEM as fgraph_register; -EIO with an
 * exception: no hook is free. Then nothing has changed.
 *
 * Users are told of an end in the reverse order of their registration, and a section's ring is copied when the tracer is
 * told of its end: only who registers after the tracer has recorded that end by then. */
int fg_binding_latency_start(const struct fg_latency_tracer *tracer, struct fg_latency_inside inside,
                             const char **why);
/* What was kept stays. -EINVAL: it is not on, or in another interpreter. */
int fg_binding_latency_stop(const struct fg_latency_tracer *tracer);
bool fg_binding_latency_is_on(const struct fg_latency_tracer *tracer);
/* All that this interpreter turned on. */
void fg_binding_latency_stop_all(void);

#endif
