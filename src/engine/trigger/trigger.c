/* See trigger.h. */
#include "engine/trigger/trigger.h"

#include <string.h>

#include "engine/trigger/trigger_action.h"

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

void fg_trigger_act(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site)
{
    const struct fg_trigger_action *action = &fg_trigger_actions[trigger->kind];

    if (!(action->is_done && action->is_done(trigger, instance)) && is_due(trigger))
        action->run(trigger, instance, site);
}

void fg_trigger_run(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site, const uint8_t *image, uint32_t bytes)
{
    if (trigger->filter && !fg_event_filter_matches(trigger->filter, image, bytes))
        return;
    if (trigger->kind != FG_TRIGGER_HIST)
        fg_trigger_act(trigger, instance, site);
    else if (is_due(trigger))
        fg_hist_hit(trigger->hist, &trigger->actions, instance, site, image, bytes);
}
