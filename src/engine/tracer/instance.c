/* The list of instances. */
#include "engine/tracer/instance.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/mutex.h"

#define NO_HANDLE 0

static struct {
    pthread_mutex_t lock;
    struct fg_instance *first;
    int next_handle;
    uint32_t count;
} instances = {.lock = PTHREAD_MUTEX_INITIALIZER, .next_handle = 1};

/* Called by the thread that found a broken invariant, which may hold any lock: it must not wait for one. */
static void killed(const char *message)
{
    if (!fg_mutex_trylock(&instances.lock))
        return; /* standard error and fg_killed() have the message */
    for (struct fg_instance *instance = instances.first; instance; instance = instance->next)
        fg_ring_set_killed(&instance->ring, message);
    fg_mutex_unlock(&instances.lock);
}

void fg_instance_link(struct fg_instance *instance)
{
    fg_mutex_lock(&instances.lock);
    instance->handle = instances.next_handle++;
    instance->next = instances.first;
    instances.first = instance;
    instances.count++;
    fg_mutex_unlock(&instances.lock);
    fg_on_kill(killed);
}

struct fg_instance *fg_instance_get(int handle)
{
    struct fg_instance *instance;

    if (handle == NO_HANDLE)
        return NULL;
    fg_mutex_lock(&instances.lock);
    for (instance = instances.first; instance && instance->handle != handle; instance = instance->next)
        ;
    if (instance)
        instance->refs++;
    fg_mutex_unlock(&instances.lock);
    return instance;
}

static void instance_free(struct fg_instance *instance)
{
    fg_filter_clear(&fg_user_of(&instance->ops)->filter);
    fg_filter_clear(&instance->filter);
    free(instance->described);
    free(atomic_load(&instance->style));
    free(instance);
}

void fg_instance_put(struct fg_instance *instance)
{
    bool is_last;

    fg_mutex_lock(&instances.lock);
    is_last = --instance->refs == 0;
    fg_mutex_unlock(&instances.lock);
    if (is_last)
        instance_free(instance);
}

void fg_instance_unlink(struct fg_instance *instance)
{
    struct fg_instance **at = &instances.first;

    fg_mutex_lock(&instances.lock);
    while (*at != instance)
        at = &(*at)->next;
    *at = instance->next;
    instances.count--;
    fg_mutex_unlock(&instances.lock);
    fg_instance_put(instance);
}

void fg_instance_hide(struct fg_instance *instance)
{
    fg_mutex_lock(&instances.lock);
    instance->handle = NO_HANDLE;
    fg_mutex_unlock(&instances.lock);
}

int fg_instance_next(int handle, const void *scope)
{
    int next = NO_HANDLE;

    fg_mutex_lock(&instances.lock);
    for (struct fg_instance *at = instances.first; at; at = at->next) {
        if (at->handle > handle && (next == NO_HANDLE || at->handle < next) &&
            fg_user_of(&at->ops)->scope == scope)
            next = at->handle;
    }
    fg_mutex_unlock(&instances.lock);
    return next;
}

uint32_t fg_instance_count(void)
{
    uint32_t count;

    fg_mutex_lock(&instances.lock);
    count = instances.count;
    fg_mutex_unlock(&instances.lock);
    return count;
}

bool fg_instance_is_top(int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    bool is_top = instance && (!*instance->ring.instance || strcmp(instance->ring.instance, "top") == 0);

    if (instance)
        fg_instance_put(instance);
    return is_top;
}

bool fg_instance_has_ended(int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);
    bool has_ended = instance && atomic_load(&instance->ring.has_ended);

    if (instance)
        fg_instance_put(instance);
    return has_ended;
}

void fg_instances_lock(void)
{
    fg_mutex_lock(&instances.lock);
}

struct fg_instance *fg_instances_first(void)
{
    return instances.first;
}

void fg_instances_unlock(void)
{
    fg_mutex_unlock(&instances.lock);
}
