/* See hist_action.h. */
#include "engine/trigger/hist_action.h"

#include <errno.h>

#include "engine/base/compiler.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/trigger/hit.h"

/* What it notes is of one action. */
static bool can_snapshot(const struct fg_hist_actions *actions, const struct fg_hist_action *action)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < actions->nr_actions; i++)
        n += actions->actions[i].is_snapshot;
    return n == 1 && actions->taken && action->tracked >= 0 && !action->sink;
}

int fg_hist_actions_check(struct fg_hist_actions *actions, uint32_t nr_tracked)
{
    actions->needs = 0;
    for (uint32_t i = 0; i < actions->nr_actions; i++) {
        const struct fg_hist_action *action = &actions->actions[i];

        if (action->tracked >= (int)nr_tracked ||
            (action->sink && action->nr_values != action->sink->nr_values) ||
            (action->is_snapshot && !can_snapshot(actions, action)))
            return -EINVAL;
        for (uint32_t k = 0; k < action->nr_values; k++) {
            if (fg_hist_term_check(&action->values[k]))
                return -EINVAL;
            actions->needs |= fg_hist_term_needs(&action->values[k]);
        }
    }
    return 0;
}

bool fg_hist_actions_have(const struct fg_hist_actions *actions, const struct fg_hist_sink *sink)
{
    for (uint32_t i = 0; i < actions->nr_actions; i++) {
        if (actions->actions[i].sink == sink)
            return true;
    }
    return false;
}

/* ---- at a hit */

/* What is hit, and where. */
struct target {
    struct fg_hist *hist;
    const struct fg_hist_actions *actions;
    struct fg_instance *instance;
    const struct fg_event_site *site;
};

/* The variables that a hit has taken; texts of them are in `words`. */
struct taken {
    struct fg_loaded values[FG_HIST_MAX_REFERENCES];
    uint64_t words[FG_HIST_MAX_REFERENCES][FG_HIST_MAX_KEY_WORDS];
};

/* False: one of them is not there. Those before it are taken all the same, as in the kernel. */
static bool take(const struct fg_hist *hist, const struct fg_hist_actions *actions, const struct fg_hit *hit,
                 struct taken *taken)
{
    for (uint32_t i = 0; i < actions->nr_references; i++) {
        const struct fg_hist_reference *reference = &actions->references[i];

        if (!fg_hist_take(reference->hist, hist, hit, reference->index, taken->words[i], &taken->values[i]))
            return false;
    }
    return true;
}

/* An image has room for no more stacks of the full length. */
#define MAX_STACKS (FG_EVENT_MAX_BYTES / (8 * FG_HIST_MAX_STACK))

static FG_NOINLINE void give_values(const struct fg_hist_action *action, const struct fg_event_site *site,
                                    const struct fg_hit *hit)
{
    struct fg_loaded values[FG_EVENT_MAX_FIELDS];
    uint32_t functions[MAX_STACKS][FG_HIST_MAX_STACK], nr_stacks = 0;

    if (!action->sink->is_enabled(action->sink))
        return;
    for (uint32_t i = 0; i < action->nr_values; i++) {
        const struct fg_hist_term *term = &action->values[i];

        if (term->kind != FG_HIST_KIND_STACK)
            values[i] = fg_hist_term_run(term, hit);
        else if (nr_stacks < MAX_STACKS)
            values[i] = fg_hist_term_stack(term, hit, functions[nr_stacks++]);
        else
            values[i] = (struct fg_loaded){.kind = FG_LOADED_NONE};
    }
    action->sink->take(action->sink, site, values);
}

static FG_NOINLINE void take_snapshot(const struct target *at, struct fg_hist_element *element,
                                      uint32_t tracked, const struct fg_hit *hit)
{
    if (fg_hist_taken_note(at->actions->taken, at->hist, element, tracked, hit))
        fg_instance_snapshot(at->instance, at->site->task, "snapshot");
}

static void act(const struct target *at, struct fg_hist_element *element, const struct fg_hit *hit)
{
    for (uint32_t i = 0; i < at->actions->nr_actions; i++) {
        const struct fg_hist_action *action = &at->actions->actions[i];

        if (action->tracked >= 0 && !fg_hist_track(at->hist, element, (uint32_t)action->tracked, hit))
            continue;
        if (action->sink)
            give_values(action, at->site, hit);
        else if (action->is_snapshot)
            take_snapshot(at, element, (uint32_t)action->tracked, hit);
    }
}

static FG_NOINLINE void hit_with_variables(const struct target *at, struct fg_hit *hit)
{
    struct taken taken;
    struct fg_hist_element *element;

    /* A variable is taken only if the hit then counts. */
    if (!fg_hist_is_open(at->hist) || !take(at->hist, at->actions, hit, &taken))
        return;
    hit->variables = taken.values;
    element = fg_hist_count(at->hist, hit);
    if (element)
        act(at, element, hit);
    hit->variables = NULL; /* they end here */
}

void fg_hist_hit(struct fg_hist *hist, const struct fg_hist_actions *actions, struct fg_instance *instance,
                 const struct fg_event_site *site, const uint8_t *image, uint32_t bytes)
{
    const struct target at = {hist, actions, instance, site};
    struct fg_hist_element *element;
    struct fg_hit_room room;
    struct fg_hit hit;

    fg_hit_fill(&hit, &room, fg_hist_needs(hist) | actions->needs, site, image, bytes);
    if (actions->nr_references) {
        hit_with_variables(&at, &hit);
        return;
    }
    element = fg_hist_count(hist, &hit);
    if (element && actions->nr_actions)
        act(&at, element, &hit);
}
