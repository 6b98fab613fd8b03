/* A tracing instance: one fgraph user that writes through a tracer into a ring buffer of its own. */
#ifndef FG_INSTANCE_H
#define FG_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "fgraph.h"
#include "ring_buffer.h"

struct fg_instance;

/* A tracer is one file and one line in the table of instance.c. */
struct fg_tracer {
    const char *name;
    /* Chooses the ops' functions for the instance's settings. */
    void (*init)(struct fg_instance *instance);
};

extern const struct fg_tracer fg_tracer_function_graph, fg_tracer_function;
/* All tracers, ended by NULL. */
extern const struct fg_tracer *const fg_tracers[];

struct fg_instance_config {
    const struct fg_tracer *tracer;
    struct fg_ring_config ring;
    struct fg_filter filter;  /* taken over */
    uint32_t max_graph_depth; /* 0: no limit */
    uint64_t thresh_us;       /* 0: none; else only calls that took at least this long */
    bool args, retval;
    bool retaddr;     /* where calls are made */
    bool stack_trace; /* function tracer: what each call was made from */
    bool no_repeats;  /* function tracer: a call that comes again and again is one record; not with `args` */
    bool no_sleep_time; /* durations in the thread's CPU time; costs a system call at both ends of a call */
    bool follow_fork;
    void *domain; /* of the functions that it sees */
};

struct fg_instance {
    struct fgraph_ops ops;
    struct fg_ring ring;
    const struct fg_tracer *tracer;
    uint32_t max_graph_depth;
    uint64_t thresh_ticks;
    double ticks_per_ns; /* as well as it was known when the instance began */
    bool args, retval, retaddr, stack_trace, no_repeats, no_sleep_time, follow_fork;
    struct fg_instance *next;
    int handle;
};

/* Opens the ring buffer, registers the user; *handle names it from then on. 0 or a negative errno, and then
 * nothing is left of it. config->filter is taken over in both cases. */
int fg_instance_start(struct fg_instance_config *config, int *handle);
/* Unregisters, finishes the file. -EINVAL: no such instance. */
int fg_instance_stop(int handle);
uint32_t fg_instance_count(void);
/* The next handle of that domain's instances; 0: there is none. */
int fg_instance_next(int handle, const void *domain);

/* Around fork, with the engine's own handlers (pthread_atfork). */
void fg_instances_install_fork_handlers(void);

static inline struct fg_instance *fg_instance_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_instance, ops);
}

static inline struct fg_ring_cursor *fg_instance_cursor(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].cursor;
}

#endif
