/* Registering and unregistering users, changing their filters: everything that replaces user lists.
 *
 * A change computes all new lists first (so that a lack of memory leaves everything as it was), then
 * publishes them one by one, then asks the arch to make each function's hooks match. Lists that were
 * replaced are freed once no task can be iterating them. */
#include "users.h"
#include "clock.h"
#include "progress.h"
#include "ring_layout.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct fg_user_list fg_no_users;

static struct {
    struct fg_retired *lists;  /* lists of users that were replaced, latest first */
    struct fg_retired *others; /* the same of what others gave to fg_users_retire */
    uint64_t unpublished;      /* what was taken away so far: orders fg_retired.at and `left_at` */
    uint64_t epoch;            /* registrations, leavings and changes of filters so far */
    struct fgraph_ops *holders[FG_MAX_USERS]; /* who has the slot, until it has left for good */
    uint32_t order[FG_MAX_USERS];             /* slots in the order of their users' registration */
    uint32_t nr_users;
    uint32_t free_slots[FG_MAX_USERS]; /* a queue: the slot free for longest is used first */
    uint32_t nr_free;
    /* Another queue: slots whose users left while a callback that may still know them was running. */
    uint32_t left_slots[FG_MAX_USERS];
    uint64_t left_at[FG_MAX_USERS];
    uint32_t nr_left;
    uint32_t plain_holds; /* reasons of the arch why no call can be plain */
} users;

/* What stands in the place of a user that left a list which could not be rebuilt. */
static int stub_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 0;
}

static void stub_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
}

static struct fgraph_ops stub_ops = {.entryfunc = stub_entry, .retfunc = stub_return, .name = "stub"};

/* What stands in the place of functions that a user does not have. */
static int want_return(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 1;
}

void fg_users_init(void)
{
    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        atomic_store(&fg_root.slots[i].ops, &stub_ops);
        atomic_store(&fg_root.slots[i].generation, FG_GENERATION_NONE);
        users.free_slots[users.nr_free++] = i;
    }
}

static bool has_hidden_calls(const struct fg_filter *filter)
{
    return filter->sets[FGRAPH_GRAPH_NOTRACE].n != 0 || filter->irqs == FG_IRQS_HIDDEN;
}

static uint32_t filter_flags(struct fgraph_ops *ops, const struct fg_func *func)
{
    const struct fg_user *user = fg_user_of(ops);

    return fgraph_filter_flags(&user->filter, func) | (user->may_hide ? FG_USER_GRAPH_MAY_HIDE : 0);
}

static struct fg_user_list *list_new(uint32_t n)
{
    struct fg_user_list *list;

    if (!n)
        return &fg_no_users;
    list = malloc(sizeof(*list) + n * sizeof(list->users[0]));
    if (list) {
        list->n = n;
        list->everywhere = list->needs_times = list->wants_ends = false;
        list->bits = 0;
    }
    return list;
}

/* The user is told no end, and needs no frame to know what lies below a function of its graph sets. */
static bool is_entry_only(const struct fgraph_ops *ops, const struct fg_func *func, uint32_t flags)
{
    const struct fg_user *user = fg_user_of_const(ops);

    if (flags & ~(FG_USER_TIDS | FG_USER_CALLER | FG_USER_GRAPH_MAY_HIDE))
        return false;
    return user->wantsends ? !user->wantsends(func) : user->is_entry_only;
}

static void list_set(struct fg_user_list *list, uint32_t i, const struct fg_func *func,
                     struct fgraph_ops *ops, uint32_t flags)
{
    struct fg_user_ref *user = &list->users[i];

    atomic_init(&user->ops, ops);
    user->idx = (uint32_t)fg_user_of(ops)->idx;
    user->flags = (uint16_t)flags;
    user->entry_only = is_entry_only(ops, func, flags);
}

static bool wants_everywhere(struct fgraph_ops *ops, const struct fg_func *func)
{
    const struct fg_filter *filter = &fg_user_of(ops)->filter;

    return !filter->c_calls || fgraph_filter_names(filter, func);
}

/* Who is told of the calls of a C function only where a function of its own makes them. Nobody needs to ask if all users
 * are like that: then no others are heard. */
static void settle_everywhere(struct fg_user_list *list, const struct fg_func *func)
{
    for (uint32_t i = 0; i < list->n; i++)
        list->everywhere |=
            wants_everywhere(atomic_load_explicit(&list->users[i].ops, memory_order_relaxed), func);
    for (uint32_t i = 0; i < list->n; i++) {
        struct fg_user_ref *user = &list->users[i];
        bool asks = list->everywhere &&
                    !wants_everywhere(atomic_load_explicit(&user->ops, memory_order_relaxed), func);

        user->flags = (uint16_t)((user->flags & ~FG_USER_CALLER) | (asks ? FG_USER_CALLER : 0));
    }
}

static void settle_all(struct fg_user_list *list)
{
    for (uint32_t i = 0; i < list->n; i++) {
        struct fgraph_ops *ops = atomic_load_explicit(&list->users[i].ops, memory_order_relaxed);

        list->needs_times |= !fg_user_of(ops)->is_fprobes;
        list->wants_ends |= !list->users[i].entry_only;
        list->bits |= 1ull << list->users[i].idx;
    }
}

/* What follows from who is in the list. */
static void list_settle(struct fg_user_list *list, const struct fg_func *func)
{
    if (list == &fg_no_users)
        return;
    settle_all(list);
    if (func->flags & FG_FUNC_C)
        settle_everywhere(list, func);
}

/* `filter` stands for the user's own, unless that decides by itself. */
static bool is_wanted(const struct fg_func *func, struct fgraph_ops *ops, const struct fg_filter *filter)
{
    const struct fg_user *user = fg_user_of(ops);

    return user->wantsfunc ? user->wantsfunc(func, ops) : fgraph_filter_matches(filter, func);
}

struct fg_user_list *fg_users_match(struct fg_func *func)
{
    struct fgraph_ops *matching[FG_MAX_USERS];
    struct fg_user_list *list;
    uint32_t n = 0;

    for (uint32_t i = 0; i < users.nr_users; i++) {
        struct fgraph_ops *ops = atomic_load(&fg_root.slots[users.order[i]].ops);
        struct fg_user *user = fg_user_of(ops);
        bool matched;

        if (user->domain != func->domain)
            continue;
        matched = is_wanted(func, ops, &user->filter);
        if (user->foundfunc)
            user->foundfunc(func, ops, matched);
        if (matched)
            matching[n++] = ops;
    }
    list = list_new(n);
    for (uint32_t i = 0; list && i < n; i++)
        list_set(list, i, func, matching[i], filter_flags(matching[i], func));
    if (list)
        list_settle(list, func);
    return list;
}

/* The list of `func` with `ops` in it (or not), in order of registration. */
static struct fg_user_list *list_with(struct fg_func *func, struct fgraph_ops *ops, bool wanted)
{
    struct fg_user_list *old = atomic_load_explicit(&func->users, memory_order_relaxed);
    struct fg_user_list *new;
    uint32_t n = 0;
    bool placed = !wanted;

    new = list_new(old->n + wanted);
    if (!new)
        return NULL;
    for (uint32_t i = 0; i < old->n; i++) {
        struct fgraph_ops *other = atomic_load_explicit(&old->users[i].ops, memory_order_relaxed);

        if (other == ops || other == &stub_ops)
            continue;
        if (!placed && fg_user_of(other)->generation > fg_user_of(ops)->generation) {
            list_set(new, n++, func, ops, filter_flags(ops, func));
            placed = true;
        }
        list_set(new, n++, func, other, old->users[i].flags);
    }
    if (!placed)
        list_set(new, n++, func, ops, filter_flags(ops, func));
    if (!n && new != &fg_no_users) {
        free(new);
        return &fg_no_users;
    }
    if (n)
        new->n = n;
    list_settle(new, func);
    return new;
}

static const struct fg_user_ref *find_ref(const struct fg_user_list *list, const struct fgraph_ops *ops)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->users[i].ops, memory_order_relaxed) == ops)
            return &list->users[i];
    }
    return NULL;
}

bool fg_users_has(const struct fg_user_list *list, const struct fgraph_ops *ops)
{
    return find_ref(list, ops) != NULL;
}

static void retire(struct fg_retired **queue, struct fg_retired *memory)
{
    memory->at = ++users.unpublished;
    memory->next = *queue;
    *queue = memory;
}

void fg_users_retire(struct fg_retired *memory)
{
    retire(&users.others, memory);
}

/* The one user of a list, of which nothing has to be asked at a call; or NULL. */
static const struct fg_user *only_user(const struct fg_user_list *list)
{
    return list != &fg_no_users && list->n == 1 && !list->users[0].flags
               ? fg_user_of(atomic_load_explicit(&list->users[0].ops, memory_order_relaxed))
               : NULL;
}

/* What a function keeps of its one user: where a task has it. The quick ways make frames: they are for who is told of ends,
 * and can be. */
static void publish_only_user(struct fg_func *func, const struct fg_user_list *list)
{
    const struct fg_user *user = list->wants_ends && !fg_func_awaits_hooks(func) ? only_user(list) : NULL;
    uint32_t at =
        user ? (uint32_t)(offsetof(struct fg_task, users) + list->users[0].idx * sizeof(struct fg_task_user))
             : 0;

    atomic_store_explicit(&func->plain, user && user->is_plain ? at | user->plain_kind : 0,
                          memory_order_release);
    atomic_store_explicit(&func->probed, user && user->is_fprobes ? at : 0, memory_order_release);
}

static bool has_to_wait(struct fg_func *func, const struct fg_user_list *list)
{
    return list->wants_ends && atomic_load_explicit(&func->is_deaf, memory_order_relaxed);
}

static void set_awaits_hooks(struct fg_func *func, bool awaits)
{
    atomic_store_explicit(&func->awaits_hooks, awaits, memory_order_relaxed);
}

void fg_users_publish(struct fg_func *func, struct fg_user_list *list)
{
    bool awaits = has_to_wait(func, list);

    atomic_store_explicit(&func->everywhere, list->everywhere, memory_order_relaxed);
    atomic_store_explicit(&func->wants_ends, list->wants_ends, memory_order_relaxed);
    if (awaits)
        set_awaits_hooks(func, true);
    /* release: fg_enter that sees the list sees its users and their epoch, and that they have to wait; fg_enter_plain and
     * fg_enter_probed the same of their one */
    atomic_store_explicit(&func->users, list, memory_order_release);
    if (!awaits)
        set_awaits_hooks(func, false);
    publish_only_user(func, list);
}

void fg_users_hear_ends(struct fg_func *func, bool hears)
{
    struct fg_user_list *list;

    fg_engine_lock();
    list = atomic_load_explicit(&func->users, memory_order_relaxed);
    atomic_store_explicit(&func->is_deaf, !hears, memory_order_relaxed);
    set_awaits_hooks(func, has_to_wait(func, list));
    publish_only_user(func, list);
    fg_engine_unlock();
}

static void publish(struct fg_func *func, struct fg_user_list *list)
{
    struct fg_user_list *old = atomic_load_explicit(&func->users, memory_order_relaxed);

    fg_users_publish(func, list);
    if (old != &fg_no_users)
        retire(&users.lists, &old->retired);
}

bool fg_users_rematch(struct fg_func *func)
{
    struct fg_user_list *list = fg_users_match(func);

    if (list)
        publish(func, list);
    return list != NULL;
}

/* One planned change of one function's list. No list: it stays as it is, but the function may be busy no more. */
struct fg_change {
    struct fg_func *func;
    struct fg_user_list *list;
};

static void plan_drop(struct fg_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        if (plan->changes[i].list != &fg_no_users)
            free(plan->changes[i].list);
    }
    free(plan->changes);
    *plan = (struct fg_plan){0};
}

/* The user decides by itself, and is on the function, or not, for the same as before. */
static bool stays_as_it_was(const struct fg_func *func, const struct fgraph_ops *ops,
                            const struct fg_user_ref *ref, bool wanted)
{
    if (!wanted || !ref)
        return wanted == (ref != NULL);
    return fg_user_of_const(ops)->wantsfunc && ref->entry_only == is_entry_only(ops, func, ref->flags);
}

/* Calls in progress may end while no user but those that were there wants to know. */
static bool loses_ends(struct fg_func *func, const struct fg_user_list *old, const struct fg_user_list *new)
{
    return !new->wants_ends && (old->wants_ends || fg_func_is_busy(func));
}

/* Plans what `ops` with `filter` (NULL: leaving) changes. -ENOMEM: nothing is planned. */
static int plan_make(struct fg_plan *plan, struct fgraph_ops *ops, const struct fg_filter *filter)
{
    uint32_t nr_funcs;
    struct fg_func **funcs = fg_func_table(&nr_funcs);

    *plan = (struct fg_plan){0};
    plan->changes = malloc((nr_funcs + 1) * sizeof(plan->changes[0]));
    if (!plan->changes)
        return -ENOMEM;
    for (uint32_t i = 0; i < nr_funcs; i++) {
        struct fg_user_list *old = atomic_load_explicit(&funcs[i]->users, memory_order_relaxed), *list;
        bool wanted;

        if (funcs[i]->domain != fg_user_of(ops)->domain)
            continue;
        wanted = filter && is_wanted(funcs[i], ops, filter);
        if (filter && fg_user_of(ops)->foundfunc)
            fg_user_of(ops)->foundfunc(funcs[i], ops, wanted);
        if (stays_as_it_was(funcs[i], ops, find_ref(old, ops), wanted)) {
            if (fg_func_is_busy(funcs[i])) {
                plan->is_about_busy = true;
                plan->changes[plan->n++] = (struct fg_change){funcs[i], NULL};
            }
            continue;
        }
        list = list_with(funcs[i], ops, wanted);
        if (!list) {
            plan_drop(plan);
            return -ENOMEM;
        }
        plan->is_about_busy |= loses_ends(funcs[i], old, list);
        plan->changes[plan->n++] = (struct fg_change){funcs[i], list};
    }
    return 0;
}

static void plan_publish(const struct fg_plan *plan)
{
    for (uint32_t i = 0; i < plan->n; i++) {
        if (plan->changes[i].list)
            publish(plan->changes[i].func, plan->changes[i].list);
    }
}

/* Behind the lock: the arch may need its own, and may run for long. And behind a wait for callbacks: a call that began
 * with the old lists has its frame by then. */
static void plan_sync(struct fg_plan *plan)
{
    const struct fg_arch_ops *arch = fg_engine_arch();

    if (plan->is_about_busy) {
        fg_engine_lock();
        fg_progress_note();
        fg_engine_unlock();
    }
    if (plan->n) {
        arch->sync_begin();
        for (uint32_t i = 0; i < plan->n; i++)
            arch->sync(plan->changes[i].func);
        arch->sync_end();
    }
    free(plan->changes);
}

static void slot_give_back(uint32_t idx)
{
    users.free_slots[users.nr_free++] = idx;
}

static uint64_t unpublished_now(void)
{
    uint64_t now;

    fg_engine_lock();
    now = users.unpublished;
    fg_engine_unlock();
    return now;
}

/* Takes out of a queue what no task holds any more; engine's lock held. */
static struct fg_retired *retired_until(struct fg_retired **queue, uint64_t safe)
{
    struct fg_retired **at = queue, *old;

    while (*at && (*at)->at > safe)
        at = &(*at)->next;
    old = *at;
    *at = NULL;
    return old;
}

static void free_all(struct fg_retired *retired)
{
    for (struct fg_retired *next; retired; retired = next) {
        next = retired->next;
        free(retired);
    }
}

/* Gives back the slots that no task knows any more; engine's lock held. */
static void left_until(uint64_t safe)
{
    uint32_t n = 0;

    while (n < users.nr_left && users.left_at[n] <= safe)
        slot_give_back(users.left_slots[n++]);
    users.nr_left -= n;
    memmove(users.left_slots, users.left_slots + n, users.nr_left * sizeof(users.left_slots[0]));
    memmove(users.left_at, users.left_at + n, users.nr_left * sizeof(users.left_at[0]));
}

/* Waits until no callback runs that began before (but for those that wait here themselves, and the caller's),
 * and frees what none knows any more: what was unpublished up to the count it returns. */
static uint64_t synchronize(void)
{
    const struct fg_arch_ops *arch = fg_engine_arch();
    void *held = arch->wait_begin ? arch->wait_begin() : NULL;
    uint64_t safe = fg_task_synchronize(unpublished_now());
    struct fg_retired *lists, *others;

    if (arch->wait_end)
        arch->wait_end(held);
    fg_engine_lock();
    lists = retired_until(&users.lists, safe);
    others = retired_until(&users.others, safe);
    left_until(safe);
    fg_engine_unlock();
    free_all(lists);
    free_all(others);
    return safe;
}

void fg_users_synchronize(void)
{
    synchronize();
}

static void clear_task_slot(struct fg_task *task, void *arg)
{
    uint32_t idx = *(uint32_t *)arg;

    task->users[idx] = (struct fg_task_user){.bit = 1ull << idx};
    /* What overran before is none of the new owner's. */
    task->users[idx].cursor.overrun_told =
        (uint32_t)atomic_load_explicit(&task->overrun, memory_order_relaxed);
}

static uint32_t slot_take(void)
{
    uint32_t idx = users.free_slots[0];

    users.nr_free--;
    memmove(users.free_slots, users.free_slots + 1, users.nr_free * sizeof(users.free_slots[0]));
    return idx;
}

static void order_remove(uint32_t idx)
{
    uint32_t at = 0;

    while (users.order[at] != idx)
        at++;
    users.nr_users--;
    memmove(users.order + at, users.order + at + 1, (users.nr_users - at) * sizeof(users.order[0]));
}

static void fill_in(struct fgraph_ops *ops)
{
    if (!ops->entryfunc)
        ops->entryfunc = want_return;
    if (!ops->retfunc)
        ops->retfunc = stub_return;
}

/* The threads of the filter, for callbacks to read. */
static void set_tids(struct fg_user *user)
{
    /* release: callbacks that see the set see what is in it */
    atomic_store_explicit(&user->tids, user->filter.tids, memory_order_release);
}

/* Calls can be plain from now on, or not. */
static void set_plain(void)
{
    bool can_be =
        !fg_users_are_killed() && !users.plain_holds && fg_clock_is_counter() && fg_task_fence_is_light();

    atomic_store(&fg_root.plain_descriptor, can_be ? FG_DESCRIPTOR(users.epoch) | FG_FRAME_PLAIN : 0);
}

/* Frames that are pushed from now on tell themselves from those of before. */
static void next_epoch(void)
{
    users.epoch++;
    if (fg_users_are_killed())
        return;
    atomic_store(&fg_root.descriptor, FG_DESCRIPTOR(users.epoch));
    set_plain();
}

void fg_plain_hold(void)
{
    fg_engine_lock();
    users.plain_holds++;
    set_plain();
    fg_engine_unlock();
}

void fg_plain_release(void)
{
    fg_engine_lock();
    users.plain_holds--;
    set_plain();
    fg_engine_unlock();
}

int fg_users_register_begin(struct fgraph_ops *ops, struct fg_plan *plan)
{
    struct fg_user *user = fg_user_of(ops);
    struct fg_slot *slot;
    uint32_t idx;
    int error;

    if (user->generation)
        return -EBUSY;
    if (!users.nr_free)
        return -ENOSPC;
    idx = slot_take();
    slot = &fg_root.slots[idx];
    fill_in(ops);
    user->may_hide = has_hidden_calls(&user->filter);
    user->idx = (int)idx;
    user->generation = users.epoch + 1;
    error = plan_make(plan, ops, &user->filter);
    if (error) {
        user->generation = 0;
        slot_give_back(idx);
        return error;
    }
    users.holders[idx] = ops;
    set_tids(user);
    fg_task_for_each(clear_task_slot, &idx);
    /* release: who finds it registered finds the tasks' words cleared */
    atomic_store_explicit(&slot->ops, ops, memory_order_release);
    /* release: fg_users_at that accepts the generation sees the new owner */
    atomic_store_explicit(&slot->generation, user->generation, memory_order_release);
    next_epoch();
    users.order[users.nr_users++] = idx;
    plan_publish(plan);
    return 0;
}

int fg_users_refilter_begin(struct fgraph_ops *ops, struct fg_plan *plan)
{
    int error = plan_make(plan, ops, &fg_user_of(ops)->filter);

    if (!error) {
        next_epoch();
        plan_publish(plan);
    }
    return error;
}

void fg_users_change_end(struct fg_plan *plan, bool waits)
{
    if (waits)
        synchronize();
    plan_sync(plan);
}

int fg_users_try(int (*attempt)(void *arg), void *arg)
{
    int error;

    fg_engine_lock();
    error = attempt(arg);
    if (error == -ENOSPC && users.nr_left) {
        fg_engine_unlock();
        synchronize(); /* slots that wait for a callback to end: by now it may have */
        fg_engine_lock();
        error = attempt(arg);
    }
    fg_engine_unlock();
    return error;
}

struct registering {
    struct fgraph_ops *ops;
    struct fg_plan plan;
};

static int register_attempt(void *arg)
{
    struct registering *registering = arg;

    return fg_users_register_begin(registering->ops, &registering->plan);
}

int fgraph_register(struct fgraph_ops *ops)
{
    struct registering registering = {.ops = ops};
    int error = fg_users_try(register_attempt, &registering);

    if (!error)
        fg_users_change_end(&registering.plan, true);
    return error;
}

static void list_stub(struct fg_user_list *list, const struct fgraph_ops *ops)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->users[i].ops, memory_order_relaxed) == ops)
            atomic_store_explicit(&list->users[i].ops, &stub_ops, memory_order_relaxed);
    }
}

/* The stub takes the user's place in lists that are no more published: a callback that waits for us, or that
 * called us, may be in the middle of one. Without memory for shorter lists it does so in those that are. */
static void stub_out(struct fgraph_ops *ops, bool published)
{
    uint32_t nr_funcs;
    struct fg_func **funcs = fg_func_table(&nr_funcs);

    for (struct fg_retired *list = users.lists; list; list = list->next)
        list_stub((struct fg_user_list *)list, ops);
    for (uint32_t i = 0; published && i < nr_funcs; i++) {
        struct fg_user_list *list = atomic_load_explicit(&funcs[i]->users, memory_order_relaxed);

        list_stub(list, ops);
        fg_users_publish(funcs[i], list);
    }
}

bool fgraph_is_registered(const struct fgraph_ops *ops)
{
    const struct fg_user *user = fg_user_of_const(ops);

    return user->generation && atomic_load(&fg_root.slots[user->idx].ops) == ops;
}

/* Nothing of the user runs any more. Its slot waits if some callback may still know it. */
static void leave_locked(struct fgraph_ops *ops, uint32_t idx, uint64_t left_at, uint64_t safe)
{
    if (fg_user_of(ops)->leavefunc)
        fg_user_of(ops)->leavefunc(ops);
    users.holders[idx] = NULL;
    fg_user_of(ops)->generation = 0;
    if (left_at <= safe) {
        slot_give_back(idx);
        return;
    }
    users.left_slots[users.nr_left] = idx;
    users.left_at[users.nr_left++] = left_at;
}

void fg_users_leave_begin(struct fgraph_ops *ops, struct fg_leave *leave)
{
    uint32_t idx = (uint32_t)fg_user_of(ops)->idx;
    int error;

    *leave = (struct fg_leave){.ops = ops, .idx = idx};
    /* From here on no return of its frames reaches it; those that run now are waited for at the end. */
    atomic_store(&fg_root.slots[idx].generation, FG_GENERATION_NONE);
    atomic_store(&fg_root.slots[idx].ops, &stub_ops);
    next_epoch();
    order_remove(idx);
    error = plan_make(&leave->plan, ops, NULL);
    if (!error)
        plan_publish(&leave->plan);
    stub_out(ops, error != 0);
    leave->left_at = ++users.unpublished;
}

void fg_users_leave_end(struct fg_leave *leave, bool waits)
{
    uint64_t safe = waits ? synchronize() : 0;

    plan_sync(&leave->plan);
    fg_progress_reap_all();
    fg_engine_lock();
    leave_locked(leave->ops, leave->idx, leave->left_at, safe);
    fg_engine_unlock();
}

int fgraph_unregister(struct fgraph_ops *ops)
{
    struct fg_leave leave;

    fg_engine_lock();
    if (!fgraph_is_registered(ops)) {
        fg_engine_unlock();
        return -EINVAL;
    }
    fg_users_leave_begin(ops, &leave);
    fg_engine_unlock();
    fg_users_leave_end(&leave, true);
    return 0;
}

int fgraph_set_filter(struct fgraph_ops *ops, struct fg_filter *filter)
{
    struct fg_user *user = fg_user_of(ops);
    struct fg_filter old;
    struct fg_plan plan = {0};
    int error = 0;

    fg_engine_lock();
    old = user->filter;
    user->filter = *filter;
    user->may_hide |= has_hidden_calls(filter);
    if (fgraph_is_registered(ops)) {
        error = plan_make(&plan, ops, filter);
        if (error) {
            user->filter = old;
        } else {
            set_tids(user);
            next_epoch();
            plan_publish(&plan);
        }
    }
    fg_engine_unlock();
    if (error)
        return error;
    memset(filter, 0, sizeof(*filter));
    fg_users_change_end(&plan, true);
    fg_filter_clear(&old); /* a callback that waits in here as well has looked at its threads long ago */
    return 0;
}

/* Makes the edited copy of a filter the user's own, or nothing of it. */
static int set_edited(struct fgraph_ops *ops, struct fg_filter *edited, int error)
{
    if (!error)
        error = fgraph_set_filter(ops, edited);
    fg_filter_clear(edited);
    return error;
}

int fgraph_edit_filter(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *const texts[],
                       size_t n, bool reset, struct fg_pattern_error *error)
{
    struct fg_filter filter;
    int failure = fg_filter_copy(&filter, &fg_user_of(ops)->filter);

    if (!failure && reset)
        fg_patterns_clear(&filter.sets[set]);
    if (!failure)
        failure = fg_filter_add(&filter, set, texts, n, error);
    return set_edited(ops, &filter, failure);
}

int fgraph_set_tids(struct fgraph_ops *ops, const int tids[], size_t n)
{
    struct fg_filter filter;
    int failure = fg_filter_copy(&filter, &fg_user_of(ops)->filter);

    if (!failure) {
        free(filter.tids);
        filter.tids = tids ? fg_tids_new(tids, n) : NULL;
        failure = tids && !filter.tids ? -ENOMEM : 0;
    }
    return set_edited(ops, &filter, failure);
}

uint32_t fg_users_newest_first(uint64_t bitmap, uint64_t epoch, uint32_t order[FG_MAX_USERS])
{
    uint64_t generations[FG_MAX_USERS];
    uint32_t n = 0;

    /* From the highest slot down: slots are given away in rising order, so most users come in the order they go. */
    for (uint32_t idx; bitmap; bitmap &= ~(1ull << idx)) {
        uint32_t at = n;
        uint64_t generation;

        idx = 63 - (uint32_t)__builtin_clzll(bitmap);
        generation = atomic_load_explicit(&fg_root.slots[idx].generation, memory_order_acquire);
        if (generation > epoch)
            continue;
        for (; at && generations[at - 1] < generation; at--) {
            generations[at] = generations[at - 1];
            order[at] = order[at - 1];
        }
        generations[at] = generation;
        order[at] = idx;
        n++;
    }
    return n;
}

void fg_users_task_exit(struct fg_task *task)
{
    /* Under the lock, and by holder: also a user that is leaving, or that lost its frames to the kill switch,
     * must let go of the task before its memory goes. */
    fg_engine_lock();
    for (uint32_t idx = 0; idx < FG_MAX_USERS; idx++) {
        struct fgraph_ops *ops = users.holders[idx];

        if (ops && fg_user_of(ops)->taskexitfunc)
            fg_user_of(ops)->taskexitfunc(task, ops);
    }
    fg_engine_unlock();
}

void fgraph_for_each(void (*visit)(struct fgraph_ops *ops, void *arg), void *arg)
{
    fg_engine_lock();
    for (uint32_t idx = 0; idx < FG_MAX_USERS; idx++) {
        struct fgraph_ops *ops = atomic_load(&fg_root.slots[idx].ops);

        if (ops && ops != &stub_ops)
            visit(ops, arg);
    }
    fg_engine_unlock();
}

uint32_t fgraph_count_in(const void *domain)
{
    uint32_t n = 0;

    fg_engine_lock();
    for (uint32_t i = 0; i < users.nr_users; i++)
        n += fg_user_of(atomic_load(&fg_root.slots[users.order[i]].ops))->domain == domain;
    fg_engine_unlock();
    return n;
}

uint32_t fgraph_count(void)
{
    uint32_t n;

    fg_engine_lock();
    n = users.nr_users;
    fg_engine_unlock();
    return n;
}
