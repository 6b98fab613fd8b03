/* See trigger.h. */
#include "engine/event/trigger.h"

#include <string.h>

#include "engine/core/task.h"

static const char *const names[] = {
#define X(kind, name) name,
    FG_TRIGGERS(X)
#undef X
};

int fg_trigger_by_name(const char *name)
{
    for (int i = 0; i < FG_NR_TRIGGERS; i++) {
        if (strcmp(names[i], name) == 0)
            return i;
    }
    return -1;
}

/* A handler of a signal that interrupted the ring's own work must not take the ring's lock. */
static void set_tracing(struct fg_instance *instance, struct fg_task *task, bool on)
{
    if (atomic_load(&instance->ring.paused) == !on || !fg_task_hold(task))
        return;
    fg_ring_set_paused(&instance->ring, !on);
    fg_task_release(task);
}

/* Takes one of the times that are left. */
static bool is_due(struct fg_trigger *trigger)
{
    int64_t left = atomic_load_explicit(&trigger->left, memory_order_relaxed);

    while (left > 0) {
        if (atomic_compare_exchange_weak_explicit(&trigger->left, &left, left - 1, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return left == FG_TRIGGER_UNLIMITED;
}

void fg_trigger_run(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site, const uint8_t *image, uint32_t bytes)
{
    if (trigger->filter && !fg_event_filter_matches(trigger->filter, image, bytes))
        return;
    if (!is_due(trigger))
        return;
    switch (trigger->kind) {
    case FG_TRIGGER_HIST:
        fg_hist_hit(trigger->hist, &trigger->actions, site, image, bytes);
        return;
    case FG_TRIGGER_TRACEON:
        set_tracing(instance, site->task, true);
        return;
    case FG_TRIGGER_TRACEOFF:
        set_tracing(instance, site->task, false);
        return;
    case FG_NR_TRIGGERS:
        return;
    }
}
