/* A tracing instance: one fgraph user that writes through a tracer into a ring buffer of its own. */
#ifndef FG_INSTANCE_H
#define FG_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/graph/fgraph.h"
#include "engine/ring/ring_buffer.h"
#include "engine/tracer/tracer.h"

/* What its tracer records besides, each with the kernel's name of the option, or (with "no" before it) of the option that
 * is off then: X(name, option). */
#define FG_INSTANCE_FLAGS(X)                                                                                 \
    X(args, "funcgraph-args func-args")                                                                      \
    X(retval, "funcgraph-retval")                                                                            \
    X(retaddr, "funcgraph-retaddr")                                                                          \
    X(stack_trace, "func_stack_trace")                                                                       \
    X(no_repeats, "func-no-repeats")                                                                         \
    X(no_sleep_time, "nosleep-time")                                                                         \
    X(no_irqs, "nofuncgraph-irqs")

struct fg_instance_config {
    const struct fg_tracer *tracer;
    struct fg_ring_config ring;
    struct fg_filter filter;  /* taken over */
    uint32_t max_graph_depth; /* 0: no limit */
    uint64_t thresh_us;       /* 0: none; else only calls that took at least this long */
#define X(name, option) bool name;
    FG_INSTANCE_FLAGS(X)
#undef X
    bool follow_fork;
    void *domain; /* of the functions that it sees */
};

struct fg_instance {
    struct fgraph_ops ops;
    struct fg_ring ring;
    const struct fg_tracer *tracer;
    void *tracer_data;                  /* the tracer's own, from its start to its stop */
    _Atomic uint64_t max_latency_ticks; /* tracers that look for one */
    struct fg_filter filter; /* what is asked for; the user has it while the tracer records calls */
    _Atomic uint32_t max_graph_depth;
    _Atomic uint64_t thresh_ticks;
#define X(name, option) _Atomic bool name;
    FG_INSTANCE_FLAGS(X)
#undef X
    double ticks_per_ns; /* as well as it was known when the instance began */
    _Atomic bool
        is_plain; /* its user is: with these settings there is nothing to tell but that calls begin and end */
    bool follow_fork;
    struct fg_instance *next;
    int handle;
    uint32_t refs;         /* under the lock of the list of instances */
    _Atomic bool changing; /* somebody changes it, or takes it out */
    uint64_t *told; /* functions whose symbols are in the ring: a bit for each id; under the engine's lock */
    uint32_t nr_told_words;
};

/* Its ring gets the symbols of all functions that its records may name from now on. */
void fg_instance_tell_functions(struct fg_instance *instance);

/* Opens the ring buffer, registers the user; *handle names it from then on. 0 or a negative errno, and then
 * nothing is left of it. config->filter is taken over in both cases. */
int fg_instance_start(struct fg_instance_config *config, int *handle);
/* Unregisters, finishes the file. -EINVAL: no such instance; -EBUSY: somebody changes it. */
int fg_instance_stop(int handle);

/* The instance, which stays until it is put back, but may be stopped before. NULL: there is none. */
struct fg_instance *fg_instance_get(int handle);
void fg_instance_put(struct fg_instance *instance);
uint32_t fg_instance_count(void);
/* The next handle of that domain's instances; 0: there is none. */
int fg_instance_next(int handle, const void *domain);

/* The process's symbol, the first in each ring. */
void fg_instance_put_process(struct fg_ring *ring);

/* Around fork, with the engine's own handlers (pthread_atfork). */
void fg_instances_install_fork_handlers(void);

/* Its records name functions that it does not record: its readers need to know these too. */
static inline bool fg_instance_shows_callers(const struct fg_instance *instance)
{
    return instance->retaddr || instance->stack_trace || instance->tracer->names_callers;
}

static inline struct fg_instance *fg_instance_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_instance, ops);
}

static inline struct fg_ring_cursor *fg_instance_cursor(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].cursor;
}

#endif
