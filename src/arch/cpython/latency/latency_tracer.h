/* The latency tracers of CPython: detectors over engine/latency.h. Each is one file and one line in the
 * table. At most one of each is on in a process, as the kernel's irqsoff and wakeup are. */
#ifndef FG_CPYTHON_LATENCY_TRACER_H
#define FG_CPYTHON_LATENCY_TRACER_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/latency/call_hook.h"
#include "engine/graph/user.h"
#include "engine/tracer/latency.h"

/* A user of the function graph that a tracer needs while it is on, and the function that it is for. */
struct fg_latency_user {
    struct fgraph_ops *ops;
    const char *function;
    struct fg_call_hook *hook; /* hears of the calls in its place, where it can be installed; NULL: nowhere */
};

#define FG_LATENCY_MAX_USERS 4

struct fg_latency_tracer {
    const char *name;
    const char *what; /* what a section is */
    struct fg_latency *latency;
    struct fg_latency_user
        users[FG_LATENCY_MAX_USERS]; /* ended by NULL; whoever turns the tracer on registers them */
    /* Functions whose graph shows the inside of a section; NULL: all. */
    const char *graph;
    /* Optional, with the interpreter's thread state. 0 or a negative errno, and then *why says what is in
     * the way. Before the users are registered; stop comes after they have left. */
    int (*start)(struct fg_interp *interp, const char **why);
    void (*stop)(void);
};

extern const struct fg_latency_tracer fg_tracer_loopblock, fg_tracer_wakeup, fg_tracer_gilwait;
/* All of them, ended by NULL. */
extern const struct fg_latency_tracer *const fg_latency_tracers[];

#endif
