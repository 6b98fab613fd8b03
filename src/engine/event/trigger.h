/* Triggers: what the hits of an event do in an instance besides being recorded. */
#ifndef FG_TRIGGER_H
#define FG_TRIGGER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/event/event_record.h"
#include "engine/event/filter.h"
#include "engine/event/hist_action.h"
#include "engine/tracer/instance.h"

/* X(kind, its name): what a trigger does. */
#define FG_TRIGGERS(X)                                                                                       \
    X(HIST, "hist")                                                                                          \
    X(TRACEON, "traceon")                                                                                    \
    X(TRACEOFF, "traceoff")

enum fg_trigger_kind {
#define X(kind, name) FG_TRIGGER_##kind,
    FG_TRIGGERS(X)
#undef X
        FG_NR_TRIGGERS
};

#define FG_TRIGGER_UNLIMITED (-1)

/* The caller owns its memory, which stays while an event has the trigger (event.h). */
struct fg_trigger {
    enum fg_trigger_kind kind;
    _Atomic int64_t left;           /* how often it still acts, or FG_TRIGGER_UNLIMITED */
    struct fg_event_filter *filter; /* at which hits; NULL: at all */
    struct fg_hist *hist;           /* HIST */
    struct fg_hist_actions actions; /* of its hits */
};

/* The trigger of this name, or -1. */
int fg_trigger_by_name(const char *name);

/**
 * fg_trigger_run() - Do what the trigger does at a hit, if its filter and its count say so.
 *
 * Context: inside the guard.
 */
void fg_trigger_run(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site, const uint8_t *image, uint32_t bytes);

#endif
