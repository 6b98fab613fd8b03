/* See trigger_action.h. */
#include "engine/trigger/trigger_action.h"

#include "engine/core/task.h"
#include "engine/tracer/instance_dump.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/trigger/trigger_event.h"

static bool tracing_is_so(const struct fg_trigger *trigger, const struct fg_instance *instance)
{
    return atomic_load(&instance->ring.paused) == (trigger->kind == FG_TRIGGER_TRACEOFF);
}

/* A handler of a signal that interrupted the ring's own work must not take the ring's lock. */
static void set_tracing(const struct fg_trigger *trigger, struct fg_instance *instance,
                        const struct fg_event_site *site)
{
    if (!fg_task_hold(site->task))
        return;
    fg_ring_set_paused(&instance->ring, trigger->kind == FG_TRIGGER_TRACEOFF);
    fg_task_release(site->task);
}

static void take_snapshot(const struct fg_trigger *trigger, struct fg_instance *instance,
                          const struct fg_event_site *site)
{
    (void)trigger;
    fg_instance_snapshot(instance, site->task, "snapshot");
}

static void put_stack(const struct fg_trigger *trigger, struct fg_instance *instance,
                      const struct fg_event_site *site)
{
    (void)trigger;
    fg_event_record_stack(instance, site);
}

static void dump(const struct fg_trigger *trigger, struct fg_instance *instance,
                 const struct fg_event_site *site)
{
    fg_instance_dump(instance, site->task, trigger->kind == FG_TRIGGER_CPUDUMP);
}

const struct fg_trigger_action fg_trigger_actions[FG_NR_TRIGGERS] = {
    [FG_TRIGGER_TRACEON] = {tracing_is_so, set_tracing},
    [FG_TRIGGER_TRACEOFF] = {tracing_is_so, set_tracing},
    [FG_TRIGGER_SNAPSHOT] = {NULL, take_snapshot},
    [FG_TRIGGER_STACKTRACE] = {NULL, put_stack},
    [FG_TRIGGER_ENABLE_EVENT] = {fg_trigger_event_is_so, fg_trigger_switch_event},
    [FG_TRIGGER_DISABLE_EVENT] = {fg_trigger_event_is_so, fg_trigger_switch_event},
    [FG_TRIGGER_ENABLE_HIST] = {NULL, fg_trigger_pause_hists},
    [FG_TRIGGER_DISABLE_HIST] = {NULL, fg_trigger_pause_hists},
    [FG_TRIGGER_DUMP] = {NULL, dump},
    [FG_TRIGGER_CPUDUMP] = {NULL, dump},
};
