/* A tracing instance: one fgraph user that writes through a tracer into a ring buffer of its own. The user is
 * registered, and has a slot, only while the tracer records calls, or the instance events. */
#ifndef FG_INSTANCE_H
#define FG_INSTANCE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/core/value_style.h"
#include "engine/graph/user.h"
#include "engine/tracer/tracer.h"
#include "engine/writer/ring_buffer.h"

/* What a tracer records in addition, or leaves out: X(name, the kernel's options that set it). An option
 * with "no" in front sets the flag when it is off. */
#define FG_INSTANCE_FLAGS(X)                                                                                 \
    X(args, "funcgraph-args func-args")                                                                      \
    X(retval, "funcgraph-retval")                                                                            \
    X(retaddr, "funcgraph-retaddr")                                                                          \
    X(places, "sym-offset")                                                                                  \
    X(stack_trace, "func_stack_trace")                                                                       \
    X(event_stack, "stacktrace")                                                                             \
    X(no_repeats, "func-no-repeats")                                                                         \
    X(no_sleep_time, "nosleep-time")                                                                         \
    X(no_irqs, "nofuncgraph-irqs")                                                                           \
    X(no_brief, "nobrief-calls")

/* Limits of an instance's numbers: X(name, least, most). tests/settings/ compares them
 * with funcgraph.settings.table. */
#define FG_INSTANCE_MAX_DEPTH FG_RECORD_MAX_DEPTH
#define FG_INSTANCE_MAX_THRESH_US ((int64_t)1 << 40)
#define FG_INSTANCE_LIMITS(X)                                                                                \
    X(max_graph_depth, 0, FG_INSTANCE_MAX_DEPTH)                                                             \
    X(thresh_us, 0, FG_INSTANCE_MAX_THRESH_US)                                                               \
    X(values, 0, FG_VALUE_MAX_DEPTH)                                                                         \
    X(string_size, 0, FG_VALUE_MAX_STRING)                                                                   \
    X(buffer_kb, FG_RING_MIN_KB, FG_RING_MAX_KB)

struct fg_instance {
    struct fgraph_ops ops;
    struct fg_ring ring;
    const struct fg_tracer *tracer;
    void *tracer_data;                  /* the tracer's own, from its start to its stop */
    _Atomic uint64_t max_latency_ticks; /* for tracers that look for a longest time */
    struct fg_filter filter;            /* as set; the user has a copy while the tracer records calls */
    _Atomic uint32_t max_graph_depth;
    _Atomic uint64_t thresh_ticks;
#define X(name, option) _Atomic bool name;
    FG_INSTANCE_FLAGS(X)
#undef X
    struct fg_value_style value_style; /* as set */
    /* A copy of it, or NULL: plain. Callbacks read it; whoever replaces it waits for them. */
    _Atomic(struct fg_value_style *) style;
    double ticks_per_ns; /* as measured when the instance started */
    _Atomic bool
        is_plain; /* with these settings only entries and returns are recorded: the user's is_plain */
    bool follow_fork;
    struct fg_instance *next;
    int handle;
    uint32_t refs;         /* under the lock of the list of instances */
    _Atomic bool changing; /* a thread is changing or stopping it */
    /* So many kinds of events are recorded. Changed by whoever may change the instance. */
    _Atomic uint32_t nr_events;
    _Atomic(struct fg_tids *) event_tids; /* whose hits it sees; NULL: all threads' (event_tids.h) */
    /* The functions whose symbols are in the ring: a bit for each id. Under the engine's lock. */
    uint64_t *described;
    size_t nr_described_words;
};

/**
 * fg_instance_get() - Find an instance and keep it from being freed.
 *
 * Return: the instance, for fg_instance_put(), or NULL. Another thread may stop it meanwhile.
 * Context: any thread, also in a callback.
 */
struct fg_instance *fg_instance_get(int handle);
void fg_instance_put(struct fg_instance *instance);

uint32_t fg_instance_count(void);

/**
 * fg_instance_next() - Iterate over a scope's instances in the order in which they were started.
 * @handle: the one before; 0: the first
 *
 * Return: the next handle; 0: there is none.
 */
int fg_instance_next(int handle, const void *scope);

/**
 * fg_instance_has_ended() - True if nothing that the instance records from now on will be read.
 *
 * Its recorder was killed, or has asked it to stop; or it is a forked child's, which is not to be followed.
 */
bool fg_instance_has_ended(int handle);

/**
 * fg_instance_is_top() - True for the instance that receives texts that name no instance.
 *
 * It is the instance without a name, which records the process as a whole, or the one named "top".
 */
bool fg_instance_is_top(int handle);

/* Puts an instance into the list, which takes over its one reference, and gives it its handle. */
void fg_instance_link(struct fg_instance *instance);
/* Takes the handle away. The instance stays in the list, for the fork handlers. */
void fg_instance_hide(struct fg_instance *instance);
/* Takes an instance out of the list, and drops the list's reference. */
void fg_instance_unlink(struct fg_instance *instance);

/* For the fork handlers, which hold the list's lock across a fork: the latest instance; `next` leads to
 * the others. */
void fg_instances_lock(void);
struct fg_instance *fg_instances_first(void);
void fg_instances_unlock(void);

static inline const struct fg_value_style *fg_instance_style(struct fg_instance *instance)
{
    const struct fg_value_style *style = atomic_load_explicit(&instance->style, memory_order_acquire);

    return style ? style : &fg_plain_values;
}

/* False for nop and the like. */
static inline bool fg_instance_records_calls(const struct fg_instance *instance)
{
    return instance->tracer->init != NULL;
}

/* False: the instance is idle. It has no slot, and its ring takes marks only. */
static inline bool fg_instance_needs_slot(const struct fg_instance *instance)
{
    return fg_instance_records_calls(instance) || instance->nr_events;
}

static inline struct fg_instance *fg_instance_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_instance, ops);
}

static inline struct fg_ring_cursor *fg_instance_cursor(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].cursor;
}

/* Holds the task's cursors (fg_task_hold) while a tracer writes a call's records. False: they are lost. */
static inline bool fg_instance_hold(struct fg_task *task, struct fgraph_ops *ops)
{
    if (fg_likely(fg_task_hold(task)))
        return true;
    fg_ring_lose_in_signal(&fg_instance_of(ops)->ring, task, fg_instance_cursor(task, ops));
    return false;
}

#endif
