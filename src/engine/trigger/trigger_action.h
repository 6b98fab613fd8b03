/* What each trigger but a histogram does: one table. */
#ifndef FG_TRIGGER_ACTION_H
#define FG_TRIGGER_ACTION_H

#include "engine/trigger/event_record.h"
#include "engine/trigger/trigger_kind.h"

struct fg_trigger_action {
    /* Optional. True: there is nothing to do, which is not counted: tracing is off already. */
    bool (*is_done)(const struct fg_trigger *trigger, const struct fg_instance *instance);
    /* Runs no code of the program, and waits for no lock but the ring's. Inside the guard. */
    void (*run)(const struct fg_trigger *trigger, struct fg_instance *instance,
                const struct fg_event_site *site);
};

/* By kind; that of HIST is empty. */
extern const struct fg_trigger_action fg_trigger_actions[FG_NR_TRIGGERS];

#endif
