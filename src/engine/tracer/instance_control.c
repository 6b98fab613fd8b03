/* See instance_control.h. */
#include "engine/tracer/instance_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/clock.h"
#include "engine/graph/users.h"

int fg_instance_change_begin(struct fg_instance *instance)
{
    return atomic_exchange(&instance->changing, true) ? -EBUSY : 0;
}

void fg_instance_change_end(struct fg_instance *instance)
{
    atomic_store(&instance->changing, false);
}

/* ---- the tracer */

/* What the user's filter is to be: that of the instance, while its tracer records calls. */
static int effective_filter(const struct fg_instance *instance, const struct fg_filter *wanted,
                            struct fg_filter *filter)
{
    int error = instance->tracer->init ? fg_filter_copy(filter, wanted) : fg_filter_make_none(filter);

    if (!error && instance->tracer->tells_irqs)
        filter->irqs = instance->no_irqs ? FG_IRQS_HIDDEN : FG_IRQS_TOLD;
    return error;
}

/* Under the engine's lock: who publishes lists of functions reads it. */
static void set_plain(struct fg_instance *instance)
{
    const struct fg_tracer *tracer = instance->tracer;
    bool is_plain = tracer->is_plain && tracer->is_plain(instance);

    atomic_store(&instance->is_plain, is_plain);
    fg_engine_lock();
    fg_user_of(&instance->ops)->is_plain = is_plain;
    fg_engine_unlock();
}

/* The user is not registered. */
static void choose_functions(struct fg_instance *instance)
{
    struct fgraph_ops *ops = &instance->ops;

    ops->entryfunc = NULL;
    ops->retfunc = NULL;
    ops->suspendfunc = NULL;
    ops->resumefunc = NULL;
    ops->name = *instance->ring.instance ? instance->ring.instance : instance->tracer->name;
    fg_user_of(ops)->is_entry_only = instance->tracer->is_entry_only;
    if (instance->tracer->init)
        instance->tracer->init(instance);
    set_plain(instance);
}

static void stop_tracer(struct fg_instance *instance)
{
    if (instance->tracer->stop)
        instance->tracer->stop(instance);
    instance->tracer = &fg_tracer_nop;
    instance->tracer_data = NULL;
    atomic_store(&instance->max_latency_ticks, 0);
}

static int start_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error;

    instance->tracer = tracer;
    error = tracer->start ? tracer->start(instance) : 0;
    if (error)
        instance->tracer = &fg_tracer_nop;
    return error;
}

static int register_user(struct fg_instance *instance)
{
    struct fg_filter filter;
    int error = effective_filter(instance, &instance->filter, &filter);

    if (error)
        return error;
    choose_functions(instance);
    fgraph_set_filter(&instance->ops, &filter); /* of a user that is not registered: it cannot fail */
    return fgraph_register(&instance->ops);
}

int fg_instance_run(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error, refused;

    fg_instance_put_process(&instance->ring);
    refused = start_tracer(instance, tracer);
    error = register_user(instance);
    if (error)
        stop_tracer(instance);
    return error ? error : refused;
}

void fg_instance_halt(struct fg_instance *instance)
{
    fgraph_unregister(&instance->ops); /* -EINVAL: it never was registered */
    stop_tracer(instance);
}

/* An empty buffer in the place of the instance's own, not used yet. */
static int open_fresh(const struct fg_instance *instance, size_t buffer_bytes, struct fg_ring *fresh)
{
    struct fg_ring_config config = {.buffer_bytes = buffer_bytes, .mode = instance->ring.mode};

    return instance->ring.directory ? -EBUSY : fg_ring_open(fresh, &config);
}

static int restart(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    struct fg_ring fresh;
    int error = open_fresh(instance, instance->ring.buffer_bytes, &fresh);

    if (error)
        return error;
    fg_instance_halt(instance);
    fg_ring_adopt(&instance->ring, &fresh);
    if (instance->told)
        memset(instance->told, 0, instance->nr_told_words * sizeof(*instance->told));
    return fg_instance_run(instance, tracer);
}

int fg_instance_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    if (tracer != instance->tracer || fgraph_slot(&instance->ops) < 0)
        error = restart(instance, tracer);
    fg_instance_change_end(instance);
    return error;
}

static int set_buffer(struct fg_instance *instance, size_t bytes)
{
    struct fg_ring fresh;
    int error = open_fresh(instance, bytes, &fresh);

    if (error)
        return error;
    fg_ring_move_begin(&instance->ring);
    fg_users_synchronize(); /* a callback may be in the middle of a record */
    fg_ring_move_end(&instance->ring, &fresh);
    return 0;
}

int fg_instance_set_buffer(struct fg_instance *instance, size_t bytes)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    error = set_buffer(instance, bytes);
    fg_instance_change_end(instance);
    return error;
}

/* ---- filters and settings */

/* Also if only `is_plain` or `no_irqs` has changed: that is in the lists of users. */
static int apply_filter(struct fg_instance *instance, const struct fg_filter *wanted)
{
    struct fg_filter filter;
    int error = effective_filter(instance, wanted, &filter);

    if (!error) {
        error = fgraph_set_filter(&instance->ops, &filter);
        fg_filter_clear(&filter);
    }
    return error;
}

int fg_instance_set_filter(struct fg_instance *instance, struct fg_filter *filter)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    error = apply_filter(instance, filter);
    if (!error) {
        fg_filter_clear(&instance->filter);
        instance->filter = *filter;
        memset(filter, 0, sizeof(*filter));
    }
    fg_instance_change_end(instance);
    return error;
}

uint64_t fg_instance_thresh_ticks(uint64_t thresh_us)
{
    fg_clock_init();
    return thresh_us ? (uint64_t)((double)thresh_us * 1000.0 / fg_clock_ns_per_tick()) : 0;
}

struct fg_instance_settings fg_instance_settings(const struct fg_instance *instance)
{
    return (struct fg_instance_settings){
        .max_graph_depth = instance->max_graph_depth,
        .thresh_us = (uint64_t)((double)instance->thresh_ticks * fg_clock_ns_per_tick() / 1000.0 + 0.5),
#define X(name, option) .name = instance->name,
        FG_INSTANCE_FLAGS(X)
#undef X
    };
}

static void store_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    instance->max_graph_depth = settings->max_graph_depth;
    instance->thresh_ticks = fg_instance_thresh_ticks(settings->thresh_us);
#define X(name, option) instance->name = settings->name;
    FG_INSTANCE_FLAGS(X)
#undef X
}

/* Before calls can be plain again, and after they no more can, the tracer's own functions see the settings. */
static int change_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    struct fg_instance_settings old = fg_instance_settings(instance);
    bool was_plain = fg_user_of(&instance->ops)->is_plain, had_no_irqs = instance->no_irqs;
    bool showed_callers = fg_instance_shows_callers(instance);
    int error = 0;

    store_settings(instance, settings);
    set_plain(instance);
    if (fg_user_of(&instance->ops)->is_plain != was_plain || instance->no_irqs != had_no_irqs)
        error = apply_filter(instance, &instance->filter);
    if (error) {
        store_settings(instance, &old);
        set_plain(instance);
    } else if (fg_instance_shows_callers(instance) && !showed_callers) {
        fg_instance_tell_functions(instance);
    }
    return error;
}

int fg_instance_set_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    error = change_settings(instance, settings);
    fg_instance_change_end(instance);
    return error;
}

int fg_instance_set_tracing_on(struct fg_instance *instance, bool on)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    fg_ring_set_paused(&instance->ring, !on);
    if (!on)
        fg_users_synchronize();
    fg_instance_change_end(instance);
    return 0;
}

/* ---- marks */

#define MARK_HEAD_BYTES (sizeof(struct fg_record) + sizeof(uint64_t))

static bool put_mark(struct fg_instance *instance, struct fg_task *task, uint32_t func, const char *text,
                     uint64_t bytes)
{
    struct fg_task_user *user = &task->users[fg_user_of(&instance->ops)->idx];
    struct fg_ring_cursor *cursor = &user->cursor;
    size_t words = (MARK_HEAD_BYTES + bytes + 7) / 8;
    struct fg_record *record = fg_ring_reserve(&instance->ring, task, cursor, words * 8);

    if (!record)
        return false;
    ((uint64_t *)record)[words - 1] = 0;
    memcpy(record + 1, &bytes, sizeof(bytes));
    memcpy((uint8_t *)record + MARK_HEAD_BYTES, text, bytes);
    *record = (struct fg_record){
        .time = fg_clock_now(),
        .func = func,
        .info = FG_RECORD_INFO(FG_RECORD_MARK, words, user->depth),
    };
    fg_ring_commit(cursor, words * 8);
    return true;
}

/* Inside the guard: an instance that is found here, and a user that is registered, stay until it is left. */
static int put_marks(int handle, struct fg_task *task, uint32_t func, const char *text, size_t bytes)
{
    struct fg_instance *instance = fg_instance_get(handle);
    int error = 0;

    if (!instance)
        return -EINVAL;
    while (!error) {
        size_t part = bytes < FG_MARK_MAX_BYTES ? bytes : FG_MARK_MAX_BYTES;

        if (!fgraph_is_registered(&instance->ops) || !put_mark(instance, task, func, text, part))
            error = -ENOSPC;
        text += part;
        bytes -= part;
        if (!bytes)
            break;
    }
    fg_instance_put(instance);
    return error;
}

int fg_instance_mark(int handle, uint32_t func, const char *text, size_t bytes)
{
    struct fg_task *task = fg_task_current();
    bool has_entered;
    int error;

    if (!task)
        return -ENOMEM;
    has_entered = fg_guard_enter(task); /* else a callback of this thread's is in it, further out */
    error = put_marks(handle, task, func, text, bytes);
    if (has_entered)
        fg_guard_leave(task);
    return error;
}

bool fg_instance_is_top(int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    bool is_top = instance && (!*instance->ring.instance || strcmp(instance->ring.instance, "top") == 0);

    if (instance)
        fg_instance_put(instance);
    return is_top;
}
