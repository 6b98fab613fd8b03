/* See event_source.h. */
#include "engine/event/event_source.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/users/users.h"

/* A probe that goes is replaced by NULL: that needs no memory. */
struct fg_source_probes {
    uint32_t n;
    _Atomic(const struct fg_source_probe *) probes[];
};

static struct fg_source_probes *probes_of(struct fg_event_source *source)
{
    return atomic_load_explicit(&source->probes, memory_order_relaxed);
}

/* How many probes there are; @scope: only those in it, NULL: all. */
static uint32_t count(const struct fg_source_probes *list, const void *scope)
{
    uint32_t n = 0;

    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_source_probe *probe = atomic_load_explicit(&list->probes[i], memory_order_relaxed);

        n += probe && (!scope || probe->scope == scope);
    }
    return n;
}

/* The list before this one is freed when no callback reads it any longer. */
static void publish(struct fg_event_source *source, struct fg_source_probes *list)
{
    struct fg_source_probes *old = probes_of(source);

    /* release: a hit that sees the list sees its probes */
    atomic_store_explicit(&source->probes, list, memory_order_release);
    if (old)
        fg_users_synchronize();
    free(old);
}

static int add(struct fg_event_source *source, struct fg_source_probe *added)
{
    const struct fg_source_probes *old = probes_of(source);
    uint32_t n = count(old, NULL) + 1;
    struct fg_source_probes *list = malloc(sizeof(*list) + n * sizeof(list->probes[0]));

    if (!list)
        return -ENOMEM;
    list->n = 0;
    for (uint32_t i = 0; old && i < old->n; i++) {
        const struct fg_source_probe *probe = atomic_load_explicit(&old->probes[i], memory_order_relaxed);

        if (probe)
            atomic_init(&list->probes[list->n++], probe);
    }
    atomic_init(&list->probes[list->n++], added);
    added->source = source;
    added->missed_before = atomic_load_explicit(&source->nr_missed, memory_order_relaxed);
    publish(source, list);
    return 0;
}

static void take_out(struct fg_event_source *source, const struct fg_source_probe *probe)
{
    struct fg_source_probes *list = probes_of(source);

    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->probes[i], memory_order_relaxed) == probe)
            atomic_store_explicit(&list->probes[i], NULL, memory_order_relaxed);
    }
    if (!count(list, NULL))
        publish(source, NULL);
    else
        fg_users_synchronize();
}

static int start(struct fg_event_source *source, void *scope)
{
    int error;

    if (!source->ops || count(probes_of(source), scope))
        return 0;
    source->is_changing = true;
    error = source->ops->start(source, scope);
    source->is_changing = false;
    return error;
}

/* Stops the source where it has no probe. While another thread starts or stops it, that thread does this. */
static void stop_if_unused(struct fg_event_source *source, void *scope)
{
    if (!source->ops || source->is_changing || count(probes_of(source), scope))
        return;
    source->is_changing = true;
    source->ops->stop(source, scope);
    source->is_changing = false;
}

int fg_event_source_attach(struct fg_event_source *source, struct fg_source_probe *probe)
{
    int error = probe->source || source->is_changing ? -EBUSY : start(source, probe->scope);

    if (error)
        return error;
    error = add(source, probe);
    if (error)
        stop_if_unused(source, probe->scope);
    return error;
}

void fg_event_source_detach(struct fg_source_probe *probe)
{
    struct fg_event_source *source = probe->source;

    if (!source)
        return;
    probe->source = NULL;
    take_out(source, probe);
    stop_if_unused(source, probe->scope);
}

uint64_t fg_source_probe_missed(const struct fg_source_probe *probe)
{
    const struct fg_event_source *source = probe->source;

    return source ? atomic_load_explicit(&source->nr_missed, memory_order_relaxed) - probe->missed_before : 0;
}

static void hit_probe(const struct fg_source_probe *probe, const struct fg_event_site *site)
{
    uint8_t image[FG_EVENT_MAX_BYTES];
    uint32_t bytes;

    if (!fg_event_is_enabled(probe->event))
        return;
    bytes = probe->ops->run(probe->program, site->regs, site->func, NULL, image);
    fg_event_hit(probe->event, site, image, bytes);
}

void fg_event_source_hit(struct fg_event_source *source, const void *scope, struct fg_event_site *site)
{
    const struct fg_source_probes *list;

    site->task = fg_task_current();
    if (!site->task || !fg_guard_enter(site->task)) {
        atomic_fetch_add_explicit(&source->nr_missed, 1, memory_order_relaxed);
        return;
    }
    /* acquire: pairs with publish() */
    list = atomic_load_explicit(&source->probes, memory_order_acquire);
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_source_probe *probe = atomic_load_explicit(&list->probes[i], memory_order_acquire);

        if (probe && probe->scope == scope)
            hit_probe(probe, site);
    }
    fg_guard_leave(site->task);
}
