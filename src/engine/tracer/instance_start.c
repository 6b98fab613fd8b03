/* See instance_start.h. */
#include "engine/tracer/instance_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/core/root.h"
#include "engine/tracer/instance_symbols.h"
#include "engine/tracer/instance_tracer.h"
#include "engine/writer/ring_file.h"

static void task_exit(struct fg_task *task, struct fgraph_ops *ops)
{
    fg_ring_task_exit(&fg_instance_of(ops)->ring, task, fg_instance_cursor(task, ops));
}

/* Called before another user can get the slot, and with it the tasks' cursors. */
static void leave(struct fgraph_ops *ops)
{
    fg_ring_retire_all(&fg_instance_of(ops)->ring);
}

/* A ring without a file is read by the process itself, and has no recorder. */
static void ring_ended(struct fg_ring *ring)
{
    struct fg_instance *instance = fg_container_of(ring, struct fg_instance, ring);

    if (fg_process()->instance_ended)
        fg_process()->instance_ended(fg_user_of(&instance->ops)->scope);
}

static struct fg_instance *instance_new(struct fg_instance_config *config)
{
    struct fg_instance *instance = calloc(1, sizeof(*instance));
    struct fg_user *user;

    if (!instance) {
        fg_filter_clear(&config->filter);
        return NULL;
    }
    instance->tracer = &fg_tracer_nop;
    instance->refs = 1;
    fg_clock_init();
    instance->ticks_per_ns = 1.0 / fg_clock_ns_per_tick();
    instance->follow_fork = config->follow_fork;
    instance->filter = config->filter;
    memset(&config->filter, 0, sizeof(config->filter));
    if (fg_instance_init_settings(instance, &config->settings) != 0) {
        fg_instance_put(instance);
        return NULL;
    }
    user = fg_user_of(&instance->ops);
    user->scope = config->scope;
    user->foundfunc = fg_instance_found;
    user->taskexitfunc = task_exit;
    user->leavefunc = leave;
    return instance;
}

int fg_instance_start(struct fg_instance_config *config, int *handle)
{
    struct fg_instance *instance = instance_new(config);
    int error;

    if (!instance)
        return -ENOMEM;
    config->ring.times_work = config->settings.no_sleep_time;
    config->ring.opens_late = !config->tracer->init;
    error = fg_is_killed() ? -ENODEV : fg_ring_open(&instance->ring, &config->ring);
    if (error) {
        fg_instance_put(instance);
        return error;
    }
    instance->ring.reopened = fg_instance_reopened;
    instance->ring.ended = config->ring.directory ? ring_ended : NULL;
    fg_instance_link(instance);
    *handle = instance->handle;
    error = fg_instance_run(instance, config->tracer);
    if (error) {
        if (instance->ring.path)
            unlink(instance->ring.path);
        fg_instance_stop(*handle);
    }
    return error;
}

int fg_instance_stop(int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    int error = instance ? fg_instance_change_begin(instance) : -EINVAL;

    if (!error) { /* from here on no other thread changes it */
        fg_instance_hide(instance);
        fg_instance_stop_events(instance);
        fg_instance_halt(instance);
        fg_ring_close(&instance->ring);
        fg_instance_unlink(instance);
    }
    if (instance)
        fg_instance_put(instance);
    return error;
}

void fg_instances_process_ends(void)
{
    fg_instances_lock();
    for (struct fg_instance *instance = fg_instances_first(); instance; instance = instance->next)
        fg_ring_put_run_times(&instance->ring);
    fg_instances_unlock();
}
