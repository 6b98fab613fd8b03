/* What a hit does to a histogram, from the variables that it takes from others to the actions: onmatch(),
 * onmax() and onchange() with trace(), save() and snapshot().
 *
 *     take the variables of other histograms   one is missing: the hit is not counted
 *     count the hit, set its own variables     no room for it: no action
 *     run the actions, in order                an onmax() that is not due: not this one
 */
#ifndef FG_HIST_ACTION_H
#define FG_HIST_ACTION_H

#include "engine/hist/hist.h"
#include "engine/hist/hist_taken.h"
#include "engine/trigger/event_record.h"

#define FG_HIST_MAX_REFERENCES 16u
#define FG_HIST_MAX_ACTIONS 16u

/* Takes the values of an action: an event that is made of them (derived_event.h). */
struct fg_hist_sink {
    uint32_t nr_values;
    /* True if taking values has any effect. */
    bool (*is_enabled)(const struct fg_hist_sink *sink);
    /* @site: of the hit that acts; @values: nr_values of them */
    void (*take)(struct fg_hist_sink *sink, const struct fg_event_site *site, const struct fg_loaded *values);
};

/* A variable of another histogram. Whoever made the reference keeps that histogram. */
struct fg_hist_reference {
    struct fg_hist *hist;
    uint32_t index; /* of the variable */
};

struct fg_hist_action {
    int tracked;               /* the plan's: it must be due; -1: each hit acts */
    struct fg_hist_sink *sink; /* what takes its values; NULL: nothing does */
    bool is_snapshot;          /* it takes a snapshot of the instance; a histogram has one such action */
    uint32_t nr_values;
    struct fg_hist_term *values;
};

struct fg_hist_actions {
    uint32_t needs; /* of fg_hist_actions_check() */
    uint32_t nr_references, nr_actions;
    struct fg_hist_reference references[FG_HIST_MAX_REFERENCES];
    struct fg_hist_action actions[FG_HIST_MAX_ACTIONS];
    struct fg_hist_taken *taken; /* of the one that takes snapshots; NULL: none does */
};

/* Return: 0; -EINVAL: a value is no term, there are not as many as the sink takes, or a snapshot is not for
 * onmax() or onchange(). */
int fg_hist_actions_check(struct fg_hist_actions *actions, uint32_t nr_tracked);

/**
 * fg_hist_hit() - Do all that a hit of an event does to a histogram.
 * @instance: whose histogram it is, and whose snapshots are taken
 *
 * Context: inside the guard of site->task, the calling thread's.
 */
void fg_hist_hit(struct fg_hist *hist, const struct fg_hist_actions *actions, struct fg_instance *instance,
                 const struct fg_event_site *site, const uint8_t *image, uint32_t bytes);

/* Whether one of the actions has this sink. */
bool fg_hist_actions_have(const struct fg_hist_actions *actions, const struct fg_hist_sink *sink);

#endif
