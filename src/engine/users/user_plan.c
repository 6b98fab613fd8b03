/* See user_plan.h. */
#include "engine/users/user_plan.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/core/root.h"
#include "engine/core/sync.h"
#include "engine/graph/progress.h"
#include "engine/graph/user_list.h"

/* A planned change of one function's list. If @list is NULL the list stays, but the function may no
 * longer have pending returns. */
struct fg_change {
    struct fg_func *func;
    struct fg_user_list *list;
};

/* Not in struct fg_plan, which lies on the stack of a thread: the child of a fork may not have that stack. */
struct fg_changes {
    struct fg_changes *next; /* under way */
    const void *scope;       /* the user's */
    struct fg_change list[];
};

/* Under the engine's lock. */
static struct fg_changes *under_way;

static void plan_drop(struct fg_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        fg_user_list_drop(plan->changes->list[i].list);
    }
    free(plan->changes);
    *plan = (struct fg_plan){0};
}

/* True if the function's list need not change: the user stays attached as it is, or stays unattached. */
static bool stays_as_it_was(const struct fg_func *func, const struct fgraph_ops *ops,
                            const struct fg_user_ref *ref, bool matches)
{
    if (!matches || !ref)
        return matches == (ref != NULL);
    return fg_user_of_const(ops)->wantsfunc &&
           ref->entry_only == fg_user_is_entry_only(ops, func, ref->flags);
}

/* True if no user in @after wants returns, but calls in progress may have a user that
 * waits for theirs. */
static bool loses_returns(struct fg_func *func, const struct fg_user_list *before,
                          const struct fg_user_list *after)
{
    return !after->wants_returns && (before->wants_returns || fg_func_has_pending_returns(func));
}

int fg_plan_make(struct fg_plan *plan, struct fgraph_ops *ops, const struct fg_filter *filter)
{
    size_t nr_funcs;
    struct fg_func **funcs = fg_func_table(&nr_funcs);

    *plan = (struct fg_plan){0};
    plan->changes = calloc(1, sizeof(*plan->changes) + nr_funcs * sizeof(plan->changes->list[0]));
    if (!plan->changes)
        return -ENOMEM;
    plan->changes->scope = fg_user_of(ops)->scope;
    for (size_t i = 0; i < nr_funcs; i++) {
        struct fg_user_list *old = atomic_load_explicit(&funcs[i]->users, memory_order_relaxed), *list;
        bool matches;

        if (!fg_domain_is_seen(funcs[i]->domain, fg_user_of(ops)->scope))
            continue;
        matches = filter && fg_user_wants(funcs[i], ops, filter);
        if (filter && fg_user_of(ops)->foundfunc)
            fg_user_of(ops)->foundfunc(funcs[i], ops, matches);
        if (stays_as_it_was(funcs[i], ops, fg_user_list_find(old, ops), matches)) {
            if (fg_func_has_pending_returns(funcs[i])) {
                plan->checks_pending = true;
                plan->changes->list[plan->n++] = (struct fg_change){funcs[i], NULL};
            }
            continue;
        }
        list = fg_user_list_with(funcs[i], ops, matches);
        if (!list) {
            plan_drop(plan);
            return -ENOMEM;
        }
        plan->checks_pending |= loses_returns(funcs[i], old, list);
        plan->changes->list[plan->n++] = (struct fg_change){funcs[i], list};
    }
    return 0;
}

void fg_plan_publish(const struct fg_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++) {
        const struct fg_change *change = &plan->changes->list[i];

        if (change->list)
            fg_user_list_replace(change->func, change->list);
    }
    plan->changes->next = under_way;
    under_way = plan->changes;
}

static struct fg_func *func_at(const void *changes, size_t i)
{
    return ((const struct fg_changes *)changes)->list[i].func;
}

static void end(struct fg_changes *changes)
{
    struct fg_changes **at = &under_way;

    fg_engine_lock();
    while (*at && *at != changes)
        at = &(*at)->next;
    if (*at)
        *at = changes->next;
    fg_engine_unlock();
    free(changes);
}

void fg_plan_sync(struct fg_plan *plan)
{
    if (plan->checks_pending) {
        fg_engine_lock();
        fg_progress_note_pending();
        fg_engine_unlock();
    }
    fg_sync_many(func_at, plan->changes, plan->n);
    if (plan->changes)
        end(plan->changes);
}

bool fg_plan_is_under_way(const void *scope)
{
    const struct fg_changes *changes = under_way;

    while (changes && changes->scope != scope)
        changes = changes->next;
    return changes != NULL;
}

void fg_plans_fork_child(void)
{
    under_way = NULL;
}
