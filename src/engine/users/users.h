/* The table of users: registering, unregistering, changing filters.
 *
 * A change plans each function's new list (user_plan.c), publishes the lists one by one
 * (user_list.c), and waits for the callbacks that run (retired.c). Then it has the arches make each
 * function's hooks match (sync.c). */
#ifndef FG_USERS_H
#define FG_USERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/user.h"
#include "engine/users/user_plan.h"

/* ---- for all rooms; without locks */

/**
 * fgraph_register() - Register a user.
 * @ops: the caller fills in the public half; a callback that is NULL is set to a default
 *
 * Return: 0; -EBUSY: it is registered already; -ENOSPC: all FG_MAX_USERS slots are taken; -ENOMEM. After
 * an error nothing has changed.
 */
int fgraph_register(struct fgraph_ops *ops);

/**
 * fgraph_unregister() - Unregister a user.
 * @ops: the user
 *
 * Returns when none of the user's callbacks runs any longer, except one that called this function.
 *
 * Return: 0; -EINVAL: it is not registered.
 */
int fgraph_unregister(struct fgraph_ops *ops);

/* True from the end of the registration until the unregistration begins. An answer inside the guard stays
 * true until the guard is left. */
bool fgraph_is_registered(const struct fgraph_ops *ops);

/**
 * fg_user_set_filter() - Replace a user's filter.
 * @ops: registered or not
 * @filter: its contents become the user's, and it is empty afterwards
 *
 * Return: 0; -ENOMEM: nothing has changed. For a user that is not registered it never fails.
 */
int fg_user_set_filter(struct fgraph_ops *ops, struct fg_filter *filter);

/**
 * fgraph_edit_filter() - Add patterns to one of a user's filter sets.
 * @ops: registered or not; no other edit of its filter may run at the same time
 * @set: which set
 * @texts: the patterns
 * @n: how many
 * @reset: clear the set first
 * @error: filled in with -EINVAL
 *
 * Return: 0; -EINVAL: one of @texts is not a pattern; -ENOMEM. After an error nothing has changed.
 */
int fgraph_edit_filter(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const texts[],
                       size_t n, bool reset, struct fg_pattern_error *error);

/* Limits the user to calls in these threads; @tids NULL: no limit. -ENOMEM: nothing has changed. Not at
 * the same time as an edit of the filter. */
int fgraph_set_tids(struct fgraph_ops *ops, const int tids[], size_t n);

/* Waits until each callback that runs now has ended, except those that called this function or
 * wait here themselves. */
void fg_users_synchronize(void);

/* Calls @visit for each user in slot order, under the engine's lock. */
void fgraph_for_each(void (*visit)(struct fgraph_ops *ops, void *arg), void *arg);
uint32_t fgraph_count(void);
/* The number of users of @scope. */
uint32_t fgraph_count_in(const void *scope);
/* True while @scope has users, or the hooks of functions do not match yet what users that have left, or
 * have changed their filters, want of them. */
bool fg_users_need_hooks(const void *scope);

/* Disable the plain path while an arch must see every call in full, and enable it again. Holds nest. */
void fg_plain_hold(void);
void fg_plain_release(void);

/* ---- a change in two halves, for callers that change more under the same hold of the engine's lock: the
 * lock is held for the first half, not for the second */

/* The first half of fgraph_register(). */
int fg_users_register_begin(struct fgraph_ops *ops, struct fg_plan *plan);
/* The first half of asking a registered user's wantsfunc again. -ENOMEM: nothing has changed. */
int fg_users_refilter_begin(struct fgraph_ops *ops, struct fg_plan *plan);
/* The second half of either. Without @waits (for callbacks), a call that begins at this moment may
 * lose its return. */
void fg_users_change_end(struct fg_plan *plan, bool waits);

/* An unregistration under way, between its halves. */
struct fg_leave {
    struct fgraph_ops *ops;
    struct fg_plan plan;
    uint64_t left_at;
    uint32_t idx;
};
void fg_users_leave_begin(struct fgraph_ops *ops, struct fg_leave *leave);
/* Without @waits, callbacks that run now may go on using the ops. */
void fg_users_leave_end(struct fg_leave *leave, bool waits);

/* Calls @attempt under the engine's lock. If it returns -ENOSPC while slots of users that left are
 * queued, waits for callbacks and tries once more. */
int fg_users_try(int (*attempt)(void *arg), void *arg);

/* Makes the list of users for a function that is new, or of which more is known now. Engine's lock held.
 * NULL: memory is short. */
struct fg_user_list *fg_users_match(struct fg_func *func);

#endif
