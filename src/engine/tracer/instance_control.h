/* Changing an instance while it runs.
 *
 * A change takes effect as a whole. On an error nothing has changed, except where a function says so.
 * -EBUSY: another thread changes or stops the instance now. The caller holds no lock of the engine. Like
 * changes of users (users.h) these wait for callbacks in progress. */
#ifndef FG_INSTANCE_CONTROL_H
#define FG_INSTANCE_CONTROL_H

#include "engine/tracer/instance.h"

/**
 * fg_instance_set_tracer() - Change the tracer; the buffer is emptied, as in the kernel.
 *
 * Return: 0 or a negative errno. -EBUSY also for an instance with a file. If @tracer refuses to start,
 * the instance has the nop tracer.
 */
int fg_instance_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer);

/**
 * fg_instance_set_buffer() - Change the size of the buffer.
 * @bytes: of all sub-buffers together
 *
 * Records stay, as many as there is room for. Entries and returns meanwhile are counted as lost. A snapshot
 * is emptied: its memory always has the buffer's size. Without memory for that there is none any longer.
 *
 * Return: 0; -EINVAL: too small or too large; -ENOMEM; -EBUSY, also for an instance with a file.
 */
int fg_instance_set_buffer(struct fg_instance *instance, size_t bytes);

/**
 * fg_instance_set_filter() - Change which functions and calls are traced.
 * @filter: its contents are taken over and cleared on success
 *
 * Return: 0 or a negative errno, as fg_user_set_filter().
 */
int fg_instance_set_filter(struct fg_instance *instance, struct fg_filter *filter);

/* The tracers' settings. A change keeps what is known of calls in progress: the trace may have a call's
 * return without its entry, or its entry without its return. */
struct fg_instance_settings {
    uint32_t max_graph_depth; /* 0: no limit */
    uint64_t thresh_us;       /* 0: none; else only calls that took at least this long */
    struct fg_value_style value_style;
#define X(name, option) bool name;
    FG_INSTANCE_FLAGS(X)
#undef X
};
struct fg_instance_settings fg_instance_settings(const struct fg_instance *instance);
int fg_instance_set_settings(struct fg_instance *instance, const struct fg_instance_settings *settings);

/* For an instance that no other thread knows yet. Return: 0 or -ENOMEM. */
int fg_instance_init_settings(struct fg_instance *instance, const struct fg_instance_settings *settings);

/**
 * fg_instance_set_tracing_on() - Resume or stop recording.
 *
 * When it returns from stopping, no record is written any longer. What is recorded stays.
 */
int fg_instance_set_tracing_on(struct fg_instance *instance, bool on);

/**
 * fg_instance_thresh_ticks() - Convert microseconds to ticks of the trace clock.
 */
uint64_t fg_instance_thresh_ticks(uint64_t thresh_us);

#endif
