/* Turning latency tracers on and off: their users are registered, the hooks live as long as they are. */
#ifndef FG_LATENCY_REGISTRATION_H
#define FG_LATENCY_REGISTRATION_H

#include "arch/cpython/latency_tracer.h"

/* The maximum and what was kept begin anew. `inside_bytes`: the size of the buffer for the function graph inside sections; 0:
 * it is not recorded. 0, or: -EBUSY: it is on already; -ENOTSUP with *why: not with this CPython; -EINVAL: the buffer is too
 * small or too large; -ENOSPC, -ENOMEM as fgraph_register; -EIO with an exception: no hook is free. Then nothing has
 * changed. */
int fg_binding_latency_start(const struct fg_latency_tracer *tracer, size_t inside_bytes, const char **why);
/* What was kept stays. -EINVAL: it is not on, or in another interpreter. */
int fg_binding_latency_stop(const struct fg_latency_tracer *tracer);
bool fg_binding_latency_is_on(const struct fg_latency_tracer *tracer);
/* All that this interpreter turned on. */
void fg_binding_latency_stop_all(void);

#endif
