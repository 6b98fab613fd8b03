/* See trigger_event.h. */
#include "engine/trigger/trigger_event.h"

#include "engine/trigger/event_file.h"

bool fg_trigger_event_is_so(const struct fg_trigger *trigger, const struct fg_instance *instance)
{
    (void)instance;
    return atomic_load(&trigger->switched->is_on) == (trigger->kind == FG_TRIGGER_ENABLE_EVENT);
}

void fg_trigger_switch_event(const struct fg_trigger *trigger, struct fg_instance *instance,
                             const struct fg_event_site *site)
{
    (void)instance, (void)site;
    atomic_store(&trigger->switched->is_on, trigger->kind == FG_TRIGGER_ENABLE_EVENT);
}

static void pause_in(const struct fg_event_file *file, bool is_paused)
{
    for (uint32_t i = 0; i < file->want.nr_triggers; i++) {
        if (file->triggers[i]->kind == FG_TRIGGER_HIST)
            fg_hist_pause(file->triggers[i]->hist, is_paused);
    }
}

void fg_trigger_pause_hists(const struct fg_trigger *trigger, struct fg_instance *instance,
                            const struct fg_event_site *site)
{
    struct fg_event_files *list = atomic_load_explicit(trigger->target, memory_order_acquire);

    (void)site;
    for (uint32_t i = 0; list && i < list->n; i++) {
        const struct fg_event_file *file = atomic_load_explicit(&list->files[i], memory_order_acquire);

        if (file && file->instance == instance)
            pause_in(file, trigger->kind == FG_TRIGGER_DISABLE_HIST);
    }
}
