/* What a hit does to a histogram, from the variables that it takes from others to the actions: onmatch(),
 * onmax() and onchange().
 *
 *     take the variables of other histograms   one is missing: the hit is not counted
 *     count the hit, set its own variables     no room for it: no action
 *     run the actions, in order                an onmax() that is not due: not this one
 */
#ifndef FG_HIST_ACTION_H
#define FG_HIST_ACTION_H

#include "engine/event/event_record.h"
#include "engine/event/hist.h"

#define FG_HIST_MAX_REFERENCES 16u
#define FG_HIST_MAX_ACTIONS 16u

struct fg_made_event;

/* A variable of another histogram. Whoever made the reference keeps that histogram. */
struct fg_hist_reference {
    struct fg_hist *hist;
    uint32_t index; /* of the variable */
};

struct fg_hist_action {
    int tracked;                /* the plan's: it must be due; -1: each hit acts */
    struct fg_made_event *made; /* the event that it makes; NULL: it only keeps what is saved */
    uint32_t nr_values;
    struct fg_hist_term *values; /* one for each of the event's fields */
};

struct fg_hist_actions {
    uint32_t needs; /* of fg_hist_actions_check() */
    uint32_t nr_references, nr_actions;
    struct fg_hist_reference references[FG_HIST_MAX_REFERENCES];
    struct fg_hist_action actions[FG_HIST_MAX_ACTIONS];
};

/* Return: 0; -EINVAL: a value is no term, or there are not as many as the event has fields. */
int fg_hist_actions_check(struct fg_hist_actions *actions, uint32_t nr_tracked);

/**
 * fg_hist_hit() - Do all that a hit of an event does to a histogram.
 *
 * Context: inside the guard of site->task, the calling thread's.
 */
void fg_hist_hit(struct fg_hist *hist, const struct fg_hist_actions *actions,
                 const struct fg_event_site *site, const uint8_t *image, uint32_t bytes);

/* Whether one of the actions makes this event. */
bool fg_hist_actions_make(const struct fg_hist_actions *actions, const struct fg_made_event *made);

#endif
