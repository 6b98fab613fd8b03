/* Triggers that enable and disable other events of the instance, and their histograms. Arguments as in
 * trigger_action.h. */
#ifndef FG_TRIGGER_EVENT_H
#define FG_TRIGGER_EVENT_H

#include "engine/trigger/event_record.h"
#include "engine/trigger/trigger_kind.h"

/* True if the event is as the trigger would make it. */
bool fg_trigger_event_is_so(const struct fg_trigger *trigger, const struct fg_instance *instance);
void fg_trigger_switch_event(const struct fg_trigger *trigger, struct fg_instance *instance,
                             const struct fg_event_site *site);
void fg_trigger_pause_hists(const struct fg_trigger *trigger, struct fg_instance *instance,
                            const struct fg_event_site *site);

#endif
