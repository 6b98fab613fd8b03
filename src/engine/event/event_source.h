/* An event that somebody provides, where neither a probe on functions nor the program hits it.
 *
 * Whoever provides the event makes a source of it. A source has probes: each fetches an image from what is
 * passed at a hit, and hits an event with it. A static event and the dynamic events on it are such probes. A
 * source runs in a scope only while it has a probe there: it starts with the first one, and stops with the
 * last. A hit reads the list of probes without a lock. */
#ifndef FG_EVENT_SOURCE_H
#define FG_EVENT_SOURCE_H

#include "engine/event/probe_event.h"

struct fg_event_source;
struct fg_source_probes;

struct fg_event_source_ops {
    /* Return: 0, or a negative errno: it does not run. */
    int (*start)(struct fg_event_source *source, void *scope);
    void (*stop)(struct fg_event_source *source, void *scope);
};

struct fg_event_source {
    const struct fg_event_source_ops *ops; /* NULL: it needs no start */
    _Atomic(struct fg_source_probes *) probes;
    _Atomic uint64_t nr_missed; /* hits inside of a callback, or without a task */
    bool is_changing;           /* a thread is in ops->start or ops->stop */
};

struct fg_source_probe {
    struct fg_event *event;
    const struct fg_fetch_ops *ops; /* run() gets the regs of the hit's site */
    const void *program;
    void *scope;
    struct fg_event_source *source; /* NULL: it is not attached */
    uint64_t missed_before;         /* by the source */
};

/**
 * fg_event_source_attach() - Have a source hit a probe's event in the probe's scope.
 * @probe: filled in except for what this sets; it does not move until it is detached
 *
 * Return: 0; -EBUSY: it is attached, or another thread starts or stops the source; -ENOMEM; an error of
 * ops->start. Nothing has changed then.
 * Context: no lock of the engine held. Who attaches and detaches probes of a source does so one at a time,
 * except while ops->start or ops->stop runs.
 */
int fg_event_source_attach(struct fg_event_source *source, struct fg_source_probe *probe);

/* The source no longer reads the probe when this returns. Does nothing if it is not attached. */
void fg_event_source_detach(struct fg_source_probe *probe);

/* How many hits the probe has missed while it was attached. */
uint64_t fg_source_probe_missed(const struct fg_source_probe *probe);

/* True if any probe would see a hit. A source looks at this before it fetches anything. */
static inline bool fg_event_source_is_enabled(struct fg_event_source *source)
{
    return atomic_load_explicit(&source->probes, memory_order_relaxed) != NULL;
}

/**
 * fg_event_source_hit() - Hit the events of a source's probes.
 * @scope: only probes of this scope are hit
 * @site: its task is set here
 *
 * Context: the calling thread; outside the guard. Inside of a callback the hit is missed, and counted.
 */
void fg_event_source_hit(struct fg_event_source *source, const void *scope, struct fg_event_site *site);

#endif
