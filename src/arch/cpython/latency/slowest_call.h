/* The call in a section that took longest by itself, without what it called: mostly what the section waited
 * for. A user of the function graph sees all calls, also of C functions, and keeps the longest for each
 * thread. */
#ifndef FG_CPYTHON_SLOWEST_CALL_H
#define FG_CPYTHON_SLOWEST_CALL_H

#include "arch/cpython/base/interp.h"
#include "engine/graph/user.h"
#include "engine/tracer/latency.h"

extern struct fgraph_ops fg_slowest_call_ops;

/* A section begins in this thread, and a call made before it does not count. */
void fg_slowest_call_begin(void);

/* Notes the slowest call of a section that ends in this thread, if a call has ended in it. */
void fg_slowest_call_note(struct fg_latency_section *section, const struct fg_interp *interp);

#endif
