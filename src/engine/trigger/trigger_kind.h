/* The kinds of triggers, and what one consists of. */
#ifndef FG_TRIGGER_KIND_H
#define FG_TRIGGER_KIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/filter/filter.h"
#include "engine/trigger/hist_action.h"

struct fg_event_files;

/* X(kind, its name): what a trigger does. */
#define FG_TRIGGERS(X)                                                                                       \
    X(HIST, "hist")                                                                                          \
    X(TRACEON, "traceon")                                                                                    \
    X(TRACEOFF, "traceoff")                                                                                  \
    X(SNAPSHOT, "snapshot")                                                                                  \
    X(STACKTRACE, "stacktrace")                                                                              \
    X(ENABLE_EVENT, "enable_event")                                                                          \
    X(DISABLE_EVENT, "disable_event")                                                                        \
    X(ENABLE_HIST, "enable_hist")                                                                            \
    X(DISABLE_HIST, "disable_hist")                                                                          \
    X(DUMP, "dump")                                                                                          \
    X(CPUDUMP, "cpudump")

enum fg_trigger_kind {
#define X(kind, name) FG_TRIGGER_##kind,
    FG_TRIGGERS(X)
#undef X
        FG_NR_TRIGGERS
};

#define FG_TRIGGER_UNLIMITED (-1)

/* Whether an instance records the hits of an event, where a trigger or a command may change that. It belongs
 * to whoever says what the instance wants of the event (event.h). */
struct fg_event_switch {
    _Atomic bool is_on;
};

/* The caller owns its memory, which stays while an event has the trigger (event.h). */
struct fg_trigger {
    enum fg_trigger_kind kind;
    _Atomic int64_t left;           /* how often it still acts, or FG_TRIGGER_UNLIMITED */
    struct fg_event_filter *filter; /* at which hits; NULL: at all */
    struct fg_hist *hist;           /* HIST */
    struct fg_hist_actions actions; /* of its hits */
    /* ENABLE_HIST, DISABLE_HIST: the list of the event whose histograms are meant. It outlives this. */
    _Atomic(struct fg_event_files *) *target;
    struct fg_event_switch *switched; /* ENABLE_EVENT, DISABLE_EVENT. It outlives the trigger */
};

/* True for a trigger that writes records of its own. */
static inline bool fg_trigger_writes(const struct fg_trigger *trigger)
{
    return trigger->kind == FG_TRIGGER_STACKTRACE;
}

/* True for a trigger that takes snapshots: a hit cannot allocate the memory for them. */
static inline bool fg_trigger_takes_snapshots(const struct fg_trigger *trigger)
{
    return trigger->kind == FG_TRIGGER_SNAPSHOT || trigger->actions.taken;
}

#endif
