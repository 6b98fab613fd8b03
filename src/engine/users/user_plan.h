/* The plan of what a change of one user does to the functions' lists. All new lists are made first, so
 * that a lack of memory leaves everything unchanged. */
#ifndef FG_USER_PLAN_H
#define FG_USER_PLAN_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/graph/user.h"

struct fg_plan {
    struct fg_changes *changes;
    size_t n;
    /* Some function loses its last user that wants returns, or lost it while its calls were in progress. */
    bool checks_pending;
};

/**
 * fg_plan_make() - Plan a change of one user.
 * @plan: filled in
 * @ops: the user
 * @filter: its new filter; NULL: the user leaves
 *
 * Return: 0; -ENOMEM: nothing is planned.
 * Context: under the engine's lock.
 */
int fg_plan_make(struct fg_plan *plan, struct fgraph_ops *ops, const struct fg_filter *filter);
/* Publishes the lists. From then until fg_plan_sync() the plan is under way. Engine's lock held. */
void fg_plan_publish(const struct fg_plan *plan);
/* Has the arches make the hooks match, and frees the plan. Call it without locks: an arch may take its
 * own, and may take long. Call it after a wait for callbacks: by then a call that began with the old
 * lists has its frame. */
void fg_plan_sync(struct fg_plan *plan);

/* True if a plan for a user of @scope is under way. Engine's lock held. */
bool fg_plan_is_under_way(const void *scope);
/* In the child of a fork, where the threads of plans under way do not run. Engine's lock held. */
void fg_plans_fork_child(void);

#endif
