/* See users.h. */
#include "engine/users/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/core/retired.h"
#include "engine/core/root.h"
#include "engine/graph/end.h"
#include "engine/graph/frame.h"
#include "engine/graph/progress.h"
#include "engine/graph/user_list.h"

#define SLOTS(n)                                                                                             \
    (n), (n) + 1, (n) + 2, (n) + 3, (n) + 4, (n) + 5, (n) + 6, (n) + 7, (n) + 8, (n) + 9, (n) + 10,          \
        (n) + 11, (n) + 12, (n) + 13, (n) + 14, (n) + 15

_Static_assert(FG_MAX_USERS == 64, "SLOTS in `users` names all of them");

static struct {
    uint64_t epoch;                           /* registrations, unregistrations and filter changes so far */
    struct fgraph_ops *holders[FG_MAX_USERS]; /* the slot's user, until it has left for good */
    uint32_t order[FG_MAX_USERS];             /* slots in the order of their users' registration */
    uint32_t nr_users;
    uint32_t free_slots[FG_MAX_USERS]; /* a queue: the slot free for longest is used first */
    uint32_t nr_free;
    /* Another queue: slots of users that left while a callback that may still know the
     * slot was running. */
    uint32_t left_slots[FG_MAX_USERS];
    uint64_t left_at[FG_MAX_USERS];
    uint32_t nr_left;
    uint32_t plain_holds; /* fg_plain_hold() */
} users = {.free_slots = {SLOTS(0), SLOTS(16), SLOTS(32), SLOTS(48)}, .nr_free = FG_MAX_USERS};

/* The entryfunc of a user without one. */
static int want_return(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 1;
}

struct fg_user_list *fg_users_match(struct fg_func *func)
{
    struct fgraph_ops *matching[FG_MAX_USERS];
    uint32_t n = 0;

    for (uint32_t i = 0; i < users.nr_users; i++) {
        struct fgraph_ops *ops = atomic_load(&fg_root.slots[users.order[i]].ops);
        struct fg_user *user = fg_user_of(ops);
        bool matched;

        if (!fg_domain_is_seen(func->domain, user->scope))
            continue;
        matched = fg_user_wants(func, ops, &user->filter);
        if (user->foundfunc)
            user->foundfunc(func, ops, matched);
        if (matched)
            matching[n++] = ops;
    }
    return fg_user_list_make(func, matching, n);
}

static void slot_give_back(uint32_t idx)
{
    users.free_slots[users.nr_free++] = idx;
}

/* Frees the slots that no callback can know any longer. Engine's lock held. */
static void left_until(uint64_t safe)
{
    uint32_t n = 0;

    while (n < users.nr_left && users.left_at[n] <= safe)
        slot_give_back(users.left_slots[n++]);
    users.nr_left -= n;
    memmove(users.left_slots, users.left_slots + n, users.nr_left * sizeof(users.left_slots[0]));
    memmove(users.left_at, users.left_at + n, users.nr_left * sizeof(users.left_at[0]));
}

/* Waits for the callbacks that run now, and frees what none of them can hold any longer. Returns the
 * number up to which nothing is held. */
static uint64_t synchronize(void)
{
    uint64_t safe = fg_retired_wait();

    fg_engine_lock();
    left_until(safe);
    fg_engine_unlock();
    fg_retired_free(safe);
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
    /* The slot's new user does not get earlier overruns. */
    task->users[idx].cursor.overrun_reported =
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
        ops->retfunc = fg_stub_ops.retfunc;
}

/* Publishes the filter's threads for callbacks. */
static void set_tids(struct fg_user *user)
{
    /* release: pairs with the acquire in marks.c; a callback that sees the set sees its contents */
    atomic_store_explicit(&user->tids, user->filter.tids, memory_order_release);
}

/* Enables or disables the plain path, by the state of things now. Engine's lock held. */
static void set_plain(void)
{
    bool can_be = !fg_is_killed() && !users.plain_holds && fg_clock_is_counter() && fg_task_fence_is_light();

    atomic_store(&fg_root.plain_descriptor, can_be ? FG_DESCRIPTOR(users.epoch) | FG_FRAME_PLAIN : 0);
}

/* Starts a new epoch: frames that are pushed from now on differ from earlier ones. Engine's lock held. */
static void next_epoch(void)
{
    users.epoch++;
    if (fg_is_killed())
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

static bool has_hidden_calls(const struct fg_filter *filter)
{
    return filter->sets[FGRAPH_GRAPH_NOTRACE].n != 0 || filter->irqs == FG_IRQS_HIDDEN;
}

static void notify_task_exit(struct fg_task *task)
{
    /* By holder, not by slot: a user that is leaving, or whose slot the kill switch cleared, must also
     * release the task before its memory is unmapped. The lock keeps the holders as they are. */
    fg_engine_lock();
    for (uint32_t idx = 0; idx < FG_MAX_USERS; idx++) {
        struct fgraph_ops *ops = users.holders[idx];

        if (ops && fg_user_of(ops)->taskexitfunc)
            fg_user_of(ops)->taskexitfunc(task, ops);
    }
    fg_engine_unlock();
}

static void end_task(struct fg_task *task)
{
    fg_task_unwind(task);
    notify_task_exit(task);
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
    error = fg_plan_make(plan, ops, &user->filter);
    if (error) {
        user->generation = 0;
        slot_give_back(idx);
        return error;
    }
    users.holders[idx] = ops;
    set_tids(user);
    fg_task_on_exit(end_task);
    fg_task_for_each(clear_task_slot, &idx);
    /* release: a thread that finds the user registered sees the tasks' data cleared */
    atomic_store_explicit(&slot->ops, ops, memory_order_release);
    /* release: pairs with the acquire in fg_slot_user(); a thread that accepts the generation sees
     * the new user */
    atomic_store_explicit(&slot->generation, user->generation, memory_order_release);
    next_epoch();
    users.order[users.nr_users++] = idx;
    fg_plan_publish(plan);
    return 0;
}

int fg_users_refilter_begin(struct fgraph_ops *ops, struct fg_plan *plan)
{
    int error = fg_plan_make(plan, ops, &fg_user_of(ops)->filter);

    if (!error) {
        next_epoch();
        fg_plan_publish(plan);
    }
    return error;
}

void fg_users_change_end(struct fg_plan *plan, bool waits)
{
    if (waits)
        synchronize();
    fg_plan_sync(plan);
}

int fg_users_try(int (*attempt)(void *arg), void *arg)
{
    int error;

    fg_engine_lock();
    error = fg_is_killed() ? -ENODEV : attempt(arg);
    if (error == -ENOSPC && users.nr_left) {
        fg_engine_unlock();
        synchronize(); /* frees the left slots whose callbacks have ended by now */
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

bool fgraph_is_registered(const struct fgraph_ops *ops)
{
    const struct fg_user *user = fg_user_of_const(ops);

    return user->generation && atomic_load(&fg_root.slots[user->idx].ops) == ops;
}

/* Completes an unregistration. The slot is queued if some callback may still know it.
 * Engine's lock held. */
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
    /* From here on the user sees no return of its frames. fg_users_leave_end() waits for the callbacks
     * that run now. */
    atomic_store(&fg_root.slots[idx].generation, FG_GENERATION_NONE);
    atomic_store(&fg_root.slots[idx].ops, &fg_stub_ops);
    next_epoch();
    order_remove(idx);
    error = fg_plan_make(&leave->plan, ops, NULL);
    if (!error)
        fg_plan_publish(&leave->plan);
    fg_user_list_stub_out(ops, error != 0);
    leave->left_at = fg_retired_count_one();
}

void fg_users_leave_end(struct fg_leave *leave, bool waits)
{
    uint64_t safe = waits ? synchronize() : 0;

    fg_plan_sync(&leave->plan);
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

int fg_user_set_filter(struct fgraph_ops *ops, struct fg_filter *filter)
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
        error = fg_plan_make(&plan, ops, filter);
        if (error) {
            user->filter = old;
        } else {
            set_tids(user);
            next_epoch();
            fg_plan_publish(&plan);
        }
    }
    fg_engine_unlock();
    if (error)
        return error;
    memset(filter, 0, sizeof(*filter));
    fg_users_change_end(&plan, true);
    /* A callback that waits in synchronize() itself has finished reading its threads before. */
    fg_filter_clear(&old);
    return 0;
}

/* Installs the edited copy of a filter, unless @error is set, and frees what is left of it. */
static int set_edited(struct fgraph_ops *ops, struct fg_filter *edited, int error)
{
    if (!error)
        error = fg_user_set_filter(ops, edited);
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
        filter.tids = tids ? fg_tids_new(tids, n, NULL, 0) : NULL;
        failure = tids && !filter.tids ? -ENOMEM : 0;
    }
    return set_edited(ops, &filter, failure);
}

void fgraph_for_each(void (*visit)(struct fgraph_ops *ops, void *arg), void *arg)
{
    fg_engine_lock();
    for (uint32_t idx = 0; idx < FG_MAX_USERS; idx++) {
        struct fgraph_ops *ops = atomic_load(&fg_root.slots[idx].ops);

        if (ops && ops != &fg_stub_ops)
            visit(ops, arg);
    }
    fg_engine_unlock();
}

static uint32_t count_in(const void *scope)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < users.nr_users; i++)
        n += fg_user_of(atomic_load(&fg_root.slots[users.order[i]].ops))->scope == scope;
    return n;
}

uint32_t fgraph_count_in(const void *scope)
{
    uint32_t n;

    fg_engine_lock();
    n = count_in(scope);
    fg_engine_unlock();
    return n;
}

bool fg_users_need_hooks(const void *scope)
{
    bool need;

    fg_engine_lock();
    need = count_in(scope) || fg_plan_is_under_way(scope);
    fg_engine_unlock();
    return need;
}

uint32_t fgraph_count(void)
{
    uint32_t n;

    fg_engine_lock();
    n = users.nr_users;
    fg_engine_unlock();
    return n;
}
