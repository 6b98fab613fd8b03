/* The latency tracers of CPython: detectors on top of engine/tracer/latency.h. Each is one file and one
 * entry in the table. Each is enabled at most once in a process, like the kernel's irqsoff and wakeup. */
#ifndef FG_CPYTHON_LATENCY_TRACER_H
#define FG_CPYTHON_LATENCY_TRACER_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"
#include "arch/cpython/latency/call_hook.h"
#include "engine/graph/user.h"
#include "engine/tracer/latency.h"

/* A user of the function graph that a tracer registers while it is enabled, and the function that it
 * traces. */
struct fg_latency_user {
    struct fgraph_ops *ops;
    const char *function;
    struct fg_call_hook *hook; /* used instead of `ops` where it can be installed; NULL: never */
    /* It waits for a module that the program may import later. Left out if call hooks serve for the users
     * before it: then the program has imported by now what it uses, and pays for no other hooks. */
    bool is_late;
    /* It sees all calls, also of C functions, which costs what recording them costs: it may be left out. */
    bool c_calls;
};

#define FG_LATENCY_MAX_USERS 4

struct fg_latency_tracer {
    const char *name;
    const char *what; /* describes a section in one sentence */
    struct fg_latency *latency;
    /* Ended by an entry without `ops`. register/latency.c registers them when the tracer is enabled. */
    struct fg_latency_user users[FG_LATENCY_MAX_USERS];
    /* The function whose graph shows the inside of a section; NULL: all functions. */
    const char *graph;
    /* Optional. `start` runs before the users are registered, `stop` after they are unregistered, both
     * with the interpreter's thread state. `start` returns 0 or a negative errno, and sets *why with
     * -ENOTSUP. */
    int (*start)(struct fg_interp *interp, const char **why);
    void (*stop)(void);
};

extern const struct fg_latency_tracer fg_tracer_loopblock, fg_tracer_wakeup, fg_tracer_gilwait;
/* All latency tracers, ended by NULL. */
extern const struct fg_latency_tracer *const fg_latency_tracers[];

#endif
