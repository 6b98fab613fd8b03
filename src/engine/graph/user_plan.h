/* What a change of one user does to the lists of all functions: all new lists are made first, so that a lack of memory leaves
 * everything as it was. Private to the engine. */
#ifndef FG_USER_PLAN_H
#define FG_USER_PLAN_H

#include "engine/graph/fgraph.h"

struct fg_plan {
    struct fg_change *changes;
    uint32_t n;
    bool
        is_about_busy; /* some function loses its last user that is told of ends, or has done so in the middle of calls */
};

/* Plans what `ops` with `filter` (NULL: leaving) changes. -ENOMEM: nothing is planned. Engine's lock held. */
int fg_plan_make(struct fg_plan *plan, struct fgraph_ops *ops, const struct fg_filter *filter);
/* Engine's lock held. */
void fg_plan_publish(const struct fg_plan *plan);
/* Asks the arch to make the hooks match; the plan is done. Without locks: the arch may need its own, and may run for long.
 * Behind a wait for callbacks: a call that began with the old lists has its frame by then. */
void fg_plan_sync(struct fg_plan *plan);

#endif
