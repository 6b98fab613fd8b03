/* See trigger.h. */
#define _GNU_SOURCE
#include "engine/event/trigger.h"

#include <sched.h>
#include <string.h>
#include <sys/prctl.h>

#include "engine/core/clock.h"
#include "engine/event/trigger_action.h"

#define COMM_BYTES 16

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

/* What the histogram needs of the hit beside its image is asked for only then. */
static void count(const struct fg_trigger *trigger, const struct fg_event_site *site, const uint8_t *image,
                  uint32_t bytes)
{
    struct fg_hist *hist = trigger->hist;
    struct fg_hit hit = {.image = image, .bytes = bytes};
    struct fg_hist_element *element;
    uint32_t needs = fg_hist_needs(hist);
    struct fg_caller callers[FG_HIST_MAX_STACK];
    char comm[COMM_BYTES];

    if (needs & FG_HIST_NEEDS_CPU)
        hit.cpu = (uint32_t)sched_getcpu();
    if (needs & FG_HIST_NEEDS_TIME)
        hit.time_ns = fg_clock_to_ns(fg_clock_now());
    if (needs & FG_HIST_NEEDS_COMM) {
        prctl(PR_GET_NAME, comm);
        hit.comm = comm;
    }
    if (needs & FG_HIST_NEEDS_CALLERS) {
        callers[0] = (struct fg_caller){.func = site->func};
        hit.nr_callers =
            1 + (site->regs ? fg_regs_callers(site->regs, callers + 1, FG_HIST_MAX_STACK - 1) : 0);
        hit.callers = callers;
    }
    element = fg_hist_count(hist, &hit);
    for (uint32_t i = 0; element && i < trigger->nr_tracked; i++)
        fg_hist_track(hist, element, i, &hit);
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
        count(trigger, site, image, bytes);
}
