/* See user_list.h. */
#include "engine/graph/user_list.h"

#include <stdlib.h>

#include "engine/core/retired.h"
#include "engine/core/root.h"
#include "engine/core/task.h"
#include "engine/graph/filter.h"

struct fg_user_list fg_no_users;

/* ---- making a list */

static bool sees_native(const struct fgraph_ops *ops)
{
    return fg_user_of_const(ops)->sees_native || (ops->flags & FTRACE_OPS_FL_NATIVE);
}

bool fg_user_wants(const struct fg_func *func, struct fgraph_ops *ops, const struct fg_filter *filter)
{
    const struct fg_user *user = fg_user_of(ops);

    if ((func->flags & FG_FUNC_NATIVE) && !sees_native(ops))
        return false;
    if ((func->flags & FG_FUNC_PLACE) && !user->is_fprobes)
        return false;
    return user->wantsfunc ? user->wantsfunc(func, ops) : fg_filter_matches(filter, func);
}

bool fg_user_is_entry_only(const struct fgraph_ops *ops, const struct fg_func *func, uint32_t flags)
{
    const struct fg_user *user = fg_user_of_const(ops);

    if (flags & ~(FG_USER_TIDS | FG_USER_CALLER | FG_USER_GRAPH_MAY_HIDE))
        return false;
    return user->wantsreturns ? !user->wantsreturns(func, ops) : user->is_entry_only;
}

/* A wantsfunc has the last word: its user has no filter that could silence a function. */
static uint32_t filter_flags(struct fgraph_ops *ops, const struct fg_func *func)
{
    const struct fg_user *user = fg_user_of(ops);
    uint32_t flags = fg_filter_flags(&user->filter, func) | (user->may_hide ? FG_USER_GRAPH_MAY_HIDE : 0);

    return user->wantsfunc ? flags & ~FG_USER_SILENT : flags;
}

static struct fg_user_list *list_new(uint32_t n)
{
    struct fg_user_list *list;

    if (!n)
        return &fg_no_users;
    list = malloc(sizeof(*list) + n * sizeof(list->users[0]));
    if (list) {
        list->n = n;
        list->wants_any_caller = list->needs_times = list->gets_ready = list->wants_returns = false;
        list->bits = 0;
    }
    return list;
}

static void list_set(struct fg_user_list *list, uint32_t i, const struct fg_func *func,
                     struct fgraph_ops *ops, uint32_t flags)
{
    struct fg_user_ref *user = &list->users[i];

    atomic_init(&user->ops, ops);
    user->idx = (uint32_t)fg_user_of(ops)->idx;
    user->flags = (uint16_t)flags;
    user->entry_only = fg_user_is_entry_only(ops, func, flags);
}

static bool wants_any_caller(struct fgraph_ops *ops, const struct fg_func *func)
{
    const struct fg_filter *filter = &fg_user_of(ops)->filter;

    return !filter->c_calls || fg_filter_names(filter, func);
}

/* Decides which users of a C function check the caller at each call (FG_USER_CALLER). If all of them want
 * only calls made by their own functions, none needs to check: the arch reports no others. */
static void settle_callers(struct fg_user_list *list, const struct fg_func *func)
{
    for (uint32_t i = 0; i < list->n; i++)
        list->wants_any_caller |=
            wants_any_caller(atomic_load_explicit(&list->users[i].ops, memory_order_relaxed), func);
    for (uint32_t i = 0; i < list->n; i++) {
        struct fg_user_ref *user = &list->users[i];
        bool checks = list->wants_any_caller &&
                      !wants_any_caller(atomic_load_explicit(&user->ops, memory_order_relaxed), func);

        user->flags = (uint16_t)((user->flags & ~FG_USER_CALLER) | (checks ? FG_USER_CALLER : 0));
    }
}

static void settle_all(struct fg_user_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        struct fgraph_ops *ops = atomic_load_explicit(&list->users[i].ops, memory_order_relaxed);

        list->needs_times |= !fg_user_of(ops)->is_fprobes;
        list->gets_ready |= fg_user_of(ops)->readyfunc != NULL;
        list->wants_returns |= !list->users[i].entry_only;
        list->bits |= 1ull << list->users[i].idx;
    }
}

/* Sets the fields that sum up the users in the list. */
static void list_settle(struct fg_user_list *list, const struct fg_func *func)
{
    if (list == &fg_no_users)
        return;
    settle_all(list);
    if (func->flags & FG_FUNC_C)
        settle_callers(list, func);
}

struct fg_user_list *fg_user_list_make(const struct fg_func *func, struct fgraph_ops *const users[],
                                       uint32_t n)
{
    struct fg_user_list *list = list_new(n);

    for (uint32_t i = 0; list && i < n; i++)
        list_set(list, i, func, users[i], filter_flags(users[i], func));
    if (list)
        list_settle(list, func);
    return list;
}

struct fg_user_list *fg_user_list_with(struct fg_func *func, struct fgraph_ops *ops, bool is_member)
{
    struct fg_user_list *old = atomic_load_explicit(&func->users, memory_order_relaxed);
    struct fg_user_list *list;
    uint32_t n = 0;
    bool placed = !is_member;

    list = list_new(old->n + is_member);
    if (!list)
        return NULL;
    for (uint32_t i = 0; i < old->n; i++) {
        struct fgraph_ops *other = atomic_load_explicit(&old->users[i].ops, memory_order_relaxed);

        if (other == ops || other == &fg_stub_ops)
            continue;
        if (!placed && fg_user_of(other)->generation > fg_user_of(ops)->generation) {
            list_set(list, n++, func, ops, filter_flags(ops, func));
            placed = true;
        }
        list_set(list, n++, func, other, old->users[i].flags);
    }
    if (!placed)
        list_set(list, n++, func, ops, filter_flags(ops, func));
    if (!n && list != &fg_no_users) {
        free(list);
        return &fg_no_users;
    }
    if (n)
        list->n = n;
    list_settle(list, func);
    return list;
}

void fg_user_list_drop(struct fg_user_list *list)
{
    if (list != &fg_no_users)
        free(list);
}

const struct fg_user_ref *fg_user_list_find(const struct fg_user_list *list, const struct fgraph_ops *ops)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->users[i].ops, memory_order_relaxed) == ops)
            return &list->users[i];
    }
    return NULL;
}

/* ---- publishing a list */

/* The flags that leave the calls of a function plain. That a call is below one of the graph set, the hook of
 * a native function checks itself. */
static uint32_t plain_flags(const struct fg_func *func)
{
    return func->flags & FG_FUNC_NATIVE ? FG_USER_GRAPH_ONLY : 0;
}

/* Returns the only user of a list, if nothing else must be checked at its calls; else NULL. */
static const struct fg_user *only_user(const struct fg_func *func, const struct fg_user_list *list)
{
    return list != &fg_no_users && list->n == 1 && !(list->users[0].flags & ~plain_flags(func))
               ? fg_user_of(atomic_load_explicit(&list->users[0].ops, memory_order_relaxed))
               : NULL;
}

/* Whether the plain step is all that the user does at the function's calls. */
static bool is_plain_for(const struct fg_user *user, const struct fg_func *func)
{
    return user->is_plain && !(user->plain_kind == FG_PLAIN_RECORD && (func->flags & FG_FUNC_IMPORTS));
}

/* Records where tasks keep the data of the function's only user, for the fast paths. These push frames,
 * so the user must want returns, and the function must have return hooks. */
static void publish_only_user(struct fg_func *func, const struct fg_user_list *list)
{
    const struct fg_user *user =
        list->wants_returns && !fg_func_awaits_return_hooks(func) ? only_user(func, list) : NULL;
    uint32_t at = user ? fg_task_user_offset(list->users[0].idx) : 0;
    uint32_t below = user && list->users[0].flags ? FG_PLAIN_BELOW : 0;

    atomic_store_explicit(&func->plain, user && is_plain_for(user, func) ? at | user->plain_kind | below : 0,
                          memory_order_release);
    atomic_store_explicit(&func->probed, user && user->is_fprobes ? at : 0, memory_order_release);
}

static bool has_to_wait(struct fg_func *func, const struct fg_user_list *list)
{
    return list->wants_returns && atomic_load_explicit(&func->entry_hook_only, memory_order_relaxed);
}

static void set_awaits_hooks(struct fg_func *func, bool awaits)
{
    atomic_store_explicit(&func->awaits_return_hooks, awaits, memory_order_relaxed);
}

void fg_user_list_publish(struct fg_func *func, struct fg_user_list *list)
{
    bool awaits = has_to_wait(func, list);

    atomic_store_explicit(&func->wants_any_caller, list->wants_any_caller, memory_order_relaxed);
    atomic_store_explicit(&func->wants_returns, list->wants_returns, memory_order_relaxed);
    if (awaits)
        set_awaits_hooks(func, true);
    /* release: pairs with the acquire in fg_enter(). A thread that sees the list also sees its users,
     * their epoch, and whether they have to wait. `plain` and `probed` do the same for
     * fg_enter_plain() and fg_enter_probed(). */
    atomic_store_explicit(&func->users, list, memory_order_release);
    if (!awaits)
        set_awaits_hooks(func, false);
    publish_only_user(func, list);
}

void fg_func_set_return_hooks(struct fg_func *func, bool on)
{
    struct fg_user_list *list;

    fg_engine_lock();
    list = atomic_load_explicit(&func->users, memory_order_relaxed);
    atomic_store_explicit(&func->entry_hook_only, !on, memory_order_relaxed);
    set_awaits_hooks(func, has_to_wait(func, list));
    publish_only_user(func, list);
    fg_engine_unlock();
}

void fg_user_list_replace(struct fg_func *func, struct fg_user_list *list)
{
    struct fg_user_list *old = atomic_load_explicit(&func->users, memory_order_relaxed);

    fg_user_list_publish(func, list);
    if (old != &fg_no_users)
        fg_retire(FG_RETIRED_USER_LIST, &old->retired);
}

static void list_stub(struct fg_user_list *list, const struct fgraph_ops *ops)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->users[i].ops, memory_order_relaxed) == ops)
            atomic_store_explicit(&list->users[i].ops, &fg_stub_ops, memory_order_relaxed);
    }
}

void fg_user_list_stub_out(struct fgraph_ops *ops, bool published)
{
    size_t nr_funcs;
    struct fg_func **funcs = fg_func_table(&nr_funcs);

    for (struct fg_retired *list = fg_retired_latest(FG_RETIRED_USER_LIST); list; list = list->next)
        list_stub((struct fg_user_list *)list, ops);
    for (size_t i = 0; published && i < nr_funcs; i++) {
        struct fg_user_list *list = atomic_load_explicit(&funcs[i]->users, memory_order_relaxed);

        list_stub(list, ops);
        fg_user_list_publish(funcs[i], list);
    }
}
