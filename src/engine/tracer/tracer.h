/* Tracers: what an instance can record with.
 *
 * A tracer is a file of its own and a name in FG_TRACERS. Everything that lists tracers asks
 * fg_tracer_at(): the flags of commands, the files of instances, the messages. An arch adds its own with
 * fg_tracer_add(). docs/guides/add-a-tracer.md builds one, step by step. */
#ifndef FG_TRACER_H
#define FG_TRACER_H

#include <stdbool.h>

/* X(name): the tracer fg_tracer_NAME. */
#define FG_TRACERS(X)                                                                                        \
    X(function_graph)                                                                                        \
    X(function)                                                                                              \
    X(nop)

#define FG_MAX_TRACERS 16u

struct fg_instance;

struct fg_tracer {
    const char *name;
    /* Sets the functions of the instance's ops, before the ops are registered. NULL: the tracer records
     * no calls, the ops are not registered, and no function is hooked. */
    void (*init)(struct fg_instance *instance);
    /* Optional: true if calls can be plain (struct fg_user) with the instance's present settings. Called
     * again after each change of a setting. */
    bool (*is_plain)(const struct fg_instance *instance);
    /* Optional. start: before the ops are registered. Returns 0 or a negative errno, and then leaves
     * nothing behind. stop: after the ops were unregistered. No lock of the engine is held. */
    int (*start)(struct fg_instance *instance);
    void (*stop)(struct fg_instance *instance);
    /* It needs entries only: its functions get no return hooks, and its calls no frames. */
    bool is_entry_only;
    /* Its records name callers, traced or not, whatever the settings. */
    bool names_callers;
    /* It marks calls that the interpreter makes to handle signals, or (no_irqs) leaves them out. */
    bool reports_irqs;
    /* It sees native functions, too (struct fg_user). */
    bool sees_native;
    /* It looks for a longest time, the instance's max_latency_ticks, which can be read and set
     * at any time. */
    bool has_max_latency;
};

#define X(name) extern const struct fg_tracer fg_tracer_##name;
FG_TRACERS(X)
#undef X

/**
 * fg_tracer_at() - Iterate over all tracers.
 * @number: from 0 on
 *
 * Return: the tracer, or NULL: there are no more.
 */
const struct fg_tracer *fg_tracer_at(unsigned number);

/**
 * fg_tracer_find() - Find a tracer by its name.
 *
 * Return: the tracer, or NULL.
 */
const struct fg_tracer *fg_tracer_find(const char *name);

/**
 * fg_tracer_add() - Add a tracer, for good.
 *
 * Return: 0; -EEXIST: there is one of that name; -ENOSPC.
 * Context: before any other thread uses tracers.
 */
int fg_tracer_add(const struct fg_tracer *tracer);

#endif
