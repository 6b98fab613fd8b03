/* See instance_control.h. */
#include "engine/tracer/instance_control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/tracer/instance_symbols.h"
#include "engine/tracer/instance_tracer.h"
#include "engine/users/users.h"
#include "engine/writer/ring_file.h"
#include "engine/writer/ring_move.h"
#include "engine/writer/ring_spare.h"
#include "engine/writer/ring_swap.h"

/* ---- the tracer and the buffer */

/* Opens an empty ring that is to replace the instance's own. */
static int open_fresh(const struct fg_instance *instance, size_t buffer_bytes, struct fg_ring *fresh)
{
    struct fg_ring_config config = {.buffer_bytes = buffer_bytes, .mode = instance->ring.mode};

    return instance->ring.directory ? -EBUSY : fg_ring_open(fresh, &config);
}

/* The ring of an idle instance has no memory until it is needed. */
static int restart(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    bool needs_ring = tracer->init != NULL || instance->nr_events;
    struct fg_ring fresh;
    int error = needs_ring || instance->ring.directory
                    ? open_fresh(instance, instance->ring.buffer_bytes, &fresh)
                    : 0;

    if (error)
        return error;
    fg_instance_halt(instance);
    if (needs_ring)
        fg_ring_adopt(&instance->ring, &fresh);
    else
        fg_ring_empty(&instance->ring);
    fg_instance_forget_symbols(instance);
    return fg_instance_run(instance, tracer);
}

int fg_instance_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    if (tracer != instance->tracer || (tracer->init && fg_user_slot(&instance->ops) < 0))
        error = restart(instance, tracer);
    fg_instance_change_end(instance);
    return error;
}

/* A snapshot goes: its memory gets the new size, too. */
static int resize_snapshot(struct fg_instance *instance)
{
    if (!fg_ring_has_spare(&instance->ring))
        return 0;
    fg_instance_free_snapshot(instance);
    return fg_instance_alloc_snapshot(instance);
}

static int set_buffer(struct fg_instance *instance, size_t bytes)
{
    struct fg_ring fresh;
    int error = open_fresh(instance, bytes, &fresh);

    if (error)
        return error;
    if (fg_ring_is_unopened(&instance->ring)) {
        fg_ring_forget(&fresh); /* there is memory for it */
        instance->ring.buffer_bytes = bytes;
        return resize_snapshot(instance);
    }
    fg_ring_move_begin(&instance->ring);
    fg_users_synchronize(); /* a callback may be writing a record */
    fg_ring_move_end(&instance->ring, &fresh);
    return resize_snapshot(instance);
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

int fg_instance_set_filter(struct fg_instance *instance, struct fg_filter *filter)
{
    int error = fg_instance_change_begin(instance);

    if (error)
        return error;
    error = fg_instance_apply_filter(instance, filter);
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
        .value_style = instance->value_style,
#define X(name, option) .name = instance->name,
        FG_INSTANCE_FLAGS(X)
#undef X
    };
}

/* A zeroed style and the plain one are the same. */
static bool is_plain_style(const struct fg_value_style *style)
{
    return !style->depth && !fg_value_style_redacts(style) &&
           (!style->string_bytes || style->string_bytes == FG_VALUE_PLAIN_STRING);
}

/* All else of a style is made of these. */
static bool is_same_style(const struct fg_value_style *a, const struct fg_value_style *b)
{
    return a->depth == b->depth && a->string_size == b->string_size && strcmp(a->redact, b->redact) == 0;
}

static int set_style(struct fg_instance *instance, const struct fg_value_style *style)
{
    struct fg_value_style *copy = NULL, *old;

    if (is_same_style(style, &instance->value_style))
        return 0;
    if (!is_plain_style(style)) {
        copy = malloc(sizeof(*copy));
        if (!copy)
            return -ENOMEM;
        *copy = *style;
    }
    instance->value_style = *style;
    /* acq_rel: pairs with fg_instance_style() */
    old = atomic_exchange_explicit(&instance->style, copy, memory_order_acq_rel);
    if (old)
        fg_users_synchronize(); /* a callback may still look at it */
    free(old);
    return 0;
}

static void set_numbers(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    instance->max_graph_depth = settings->max_graph_depth;
    instance->thresh_ticks = fg_instance_thresh_ticks(settings->thresh_us);
#define X(name, option) instance->name = settings->name;
    FG_INSTANCE_FLAGS(X)
#undef X
}

int fg_instance_init_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    set_numbers(instance, settings);
    return set_style(instance, &settings->value_style);
}

/* The tracer's own functions must see the settings before calls become plain, and after they cease to be.
 * Lists of users hold is_plain, no_irqs and no_brief, so a change of these applies the filter again. */
static int change_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    struct fg_instance_settings old = fg_instance_settings(instance);
    bool was_plain = fg_user_of(&instance->ops)->is_plain;
    bool showed_callers = fg_instance_shows_callers(instance);
    int error = set_style(instance, &settings->value_style);

    if (error)
        return error;
    set_numbers(instance, settings);
    fg_instance_update_plain(instance);
    if (fg_user_of(&instance->ops)->is_plain != was_plain || instance->no_irqs != old.no_irqs ||
        instance->no_brief != old.no_brief)
        error = fg_instance_apply_filter(instance, &instance->filter);
    if (error) {
        set_numbers(instance, &old);
        fg_instance_update_plain(instance);
    } else if (fg_instance_shows_callers(instance) && !showed_callers) {
        fg_instance_put_functions(instance);
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
