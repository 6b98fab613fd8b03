/* See kprobe.h. */
#include "engine/probe/kprobe.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/core/root.h"
#include "engine/graph/contexts.h"
#include "engine/users/users.h"

_Atomic unsigned fg_kprobe_count;

static void lock(const struct fg_kprobe_arch *arch)
{
    if (arch->lock)
        arch->lock();
}

static void unlock(const struct fg_kprobe_arch *arch)
{
    if (arch->unlock)
        arch->unlock();
}

/* ---- lists */

struct entry {
    _Atomic(struct fg_kprobe *) probe; /* NULL: it was detached without memory for a list without it */
    void *owner;
};

/* In order of registration. Immutable once published, except for the entries' probes. */
struct fg_kprobe_list {
    const struct fg_kprobe_arch *arch;
    _Atomic size_t refs;
    size_t n;
    struct entry entries[];
};

static struct fg_kprobe_list *list_new(const struct fg_kprobe_arch *arch, size_t n)
{
    struct fg_kprobe_list *list = calloc(1, sizeof(*list) + n * sizeof(list->entries[0]));

    if (list) {
        list->arch = arch;
        atomic_init(&list->refs, 1);
    }
    return list;
}

static void list_add(struct fg_kprobe_list *list, struct fg_kprobe *kp)
{
    struct entry *entry = &list->entries[list->n++];

    atomic_init(&entry->probe, kp);
    entry->owner = kp->owner;
    list->arch->keep(entry->owner);
}

static void list_drop(struct fg_kprobe_list *list)
{
    if (!list || atomic_fetch_sub(&list->refs, 1) > 1)
        return;
    for (size_t i = 0; i < list->n; i++)
        list->arch->drop(list->entries[i].owner);
    free(list);
}

/* ---- with the arch's lock held, up to where it says otherwise */

static struct fg_kprobe_list *list_of(struct fg_func *func)
{
    return atomic_load_explicit(&func->kprobes, memory_order_relaxed);
}

/* Returns the former list, which the caller drops without the lock. */
static struct fg_kprobe_list *publish(struct fg_func *func, struct fg_kprobe_list *list)
{
    if (list && list->n == 0) {
        free(list);
        list = NULL;
    }
    return atomic_exchange(&func->kprobes, list);
}

/* A copy of the list with `added` at its end, or without `removed`. NULL: no memory. */
static struct fg_kprobe_list *list_copy(const struct fg_kprobe_arch *arch, const struct fg_kprobe_list *list,
                                        struct fg_kprobe *added, const struct fg_kprobe *removed)
{
    size_t n = list ? list->n : 0;
    struct fg_kprobe_list *copy = list_new(arch, n + 1);

    for (size_t i = 0; copy && i < n; i++) {
        struct fg_kprobe *kp = atomic_load_explicit(&list->entries[i].probe, memory_order_relaxed);

        if (kp && kp != removed)
            list_add(copy, kp);
    }
    if (copy && added)
        list_add(copy, added);
    return copy;
}

static int attach(struct fg_kprobe *kp, struct fg_func *func, struct fg_kprobe_list **old)
{
    struct fg_kprobe_list *list;

    if (atomic_load(&kp->is_registered))
        return -EEXIST;
    list = list_copy(kp->arch, list_of(func), kp, NULL);
    if (!list)
        return -ENOMEM;
    atomic_store(&kp->func, func);
    atomic_store(&kp->is_registered, true);
    atomic_fetch_add(&fg_kprobe_count, 1);
    *old = publish(func, list);
    return 0;
}

/* Takes the probe out of the list in place. */
static void blank(struct fg_kprobe_list *list, const struct fg_kprobe *kp)
{
    for (size_t i = 0; i < list->n; i++) {
        if (atomic_load(&list->entries[i].probe) == kp)
            atomic_store(&list->entries[i].probe, NULL);
    }
}

static int detach(struct fg_kprobe *kp, struct fg_kprobe_list **old)
{
    struct fg_func *func = atomic_load(&kp->func);
    struct fg_kprobe_list *list;

    if (!atomic_exchange(&kp->is_registered, false))
        return -EINVAL;
    atomic_fetch_sub(&fg_kprobe_count, 1);
    if (!func)
        return 0;
    list = list_copy(kp->arch, list_of(func), NULL, kp);
    if (list)
        *old = publish(func, list);
    else
        blank(list_of(func), kp);
    atomic_store(&kp->func, NULL);
    return 0;
}

/* ---- registering; without the lock */

int fg_kprobe_register(struct fg_kprobe *kp, struct fg_func *func)
{
    struct fg_kprobe_list *old = NULL;
    int error;

    if (fg_is_killed())
        return -ENODEV;
    lock(kp->arch);
    error = attach(kp, func, &old);
    unlock(kp->arch);
    list_drop(old);
    if (error)
        return error;
    error = kp->arch->listen(func);
    if (error)
        fg_kprobe_unregister(kp);
    return error;
}

int fg_kprobe_unregister(struct fg_kprobe *kp)
{
    struct fg_func *func = atomic_load(&kp->func);
    struct fg_kprobe_list *old = NULL;
    int error;

    lock(kp->arch);
    error = detach(kp, &old);
    unlock(kp->arch);
    list_drop(old);
    if (error || !func) /* a function that is gone runs in no thread, and neither does its handler */
        return error;
    kp->arch->sync(func);
    fg_users_synchronize();
    return 0;
}

int fg_kprobe_set_enabled(struct fg_kprobe *kp, bool enabled)
{
    struct fg_func *func = atomic_load(&kp->func);

    if (atomic_exchange(&kp->is_enabled, enabled) == enabled || !func)
        return 0;
    if (enabled)
        return kp->arch->listen(func);
    kp->arch->sync(func);
    return 0;
}

void fg_kprobes_forget(const struct fg_kprobe_arch *arch, struct fg_func *func)
{
    struct fg_kprobe_list *list;

    lock(arch);
    list = publish(func, NULL);
    for (size_t i = 0; list && i < list->n; i++) {
        struct fg_kprobe *kp = atomic_load(&list->entries[i].probe);

        if (kp)
            atomic_store(&kp->func, NULL);
    }
    unlock(arch);
    list_drop(list);
}

/* ---- running */

/* The function's list, or NULL. The caller drops it. */
static struct fg_kprobe_list *list_hold(const struct fg_kprobe_arch *arch, struct fg_func *func)
{
    struct fg_kprobe_list *list;

    lock(arch);
    list = list_of(func);
    if (list)
        atomic_fetch_add_explicit(&list->refs, 1, memory_order_relaxed);
    unlock(arch);
    return list;
}

unsigned fg_kprobes_kinds(const struct fg_kprobe_arch *arch, struct fg_func *func)
{
    struct fg_kprobe_list *list;
    unsigned kinds = 0;

    lock(arch);
    list = list_of(func);
    for (size_t i = 0; list && i < list->n; i++) {
        const struct fg_kprobe *kp = atomic_load(&list->entries[i].probe);

        if (kp && atomic_load(&kp->is_enabled))
            kinds |= kp->line ? FG_KPROBE_LINES : FG_KPROBE_OFFSETS;
    }
    unlock(arch);
    return kinds;
}

/* True if the probe is enabled, and at that place. */
static bool is_at(const struct fg_kprobe *kp, const struct fg_kprobe_place *place)
{
    if (!kp || !atomic_load_explicit(&kp->is_enabled, memory_order_relaxed) ||
        !atomic_load_explicit(&kp->is_registered, memory_order_relaxed))
        return false;
    return kp->line ? kp->line == place->line : kp->offset == place->offset;
}

static struct fg_kprobe *probe_at(struct fg_kprobe_list *list, size_t i, const struct fg_kprobe_place *place)
{
    struct fg_kprobe *kp = atomic_load_explicit(&list->entries[i].probe, memory_order_acquire);

    return is_at(kp, place) ? kp : NULL;
}

static void count_missed(struct fg_kprobe_list *list, const struct fg_kprobe_place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        struct fg_kprobe *kp = probe_at(list, i, place);

        if (kp)
            atomic_fetch_add_explicit(&kp->nmissed, 1, memory_order_relaxed);
    }
}

/* A handler may unregister or disable probes that come after its own: each is looked at again. */
static void run_all(struct fg_kprobe_list *list, const struct fg_kprobe_site *site,
                    const struct fg_kprobe_place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        struct fg_kprobe *kp = probe_at(list, i, place);

        if (!kp)
            continue;
        atomic_fetch_add_explicit(&kp->hits, 1, memory_order_relaxed);
        kp->run(kp, site);
    }
}

static bool is_any_at(struct fg_kprobe_list *list, const struct fg_kprobe_place *place)
{
    for (size_t i = 0; i < list->n; i++) {
        if (probe_at(list, i, place))
            return true;
    }
    return false;
}

bool fg_kprobes_are_at(const struct fg_kprobe_arch *arch, struct fg_func *func,
                       const struct fg_kprobe_place *place)
{
    struct fg_kprobe_list *list = list_hold(arch, func);
    bool is_any = list && is_any_at(list, place);

    list_drop(list);
    return is_any;
}

/* False: the guard is held. */
static bool run_in_guard(struct fg_task *task, struct fg_kprobe_list *list, const struct fg_kprobe_site *site,
                         const struct fg_kprobe_place *place)
{
    if (!fg_guard_enter(task))
        return false;
    run_all(list, site, place);
    fg_guard_leave(task);
    return true;
}

/* The guard is held. False: a callback has brought the program to the place. */
static bool run_in_handler(struct fg_task *task, struct fg_kprobe_list *list,
                           const struct fg_kprobe_site *site, const struct fg_kprobe_place *place)
{
    uint64_t *top = task->top;

    if (!fg_context_enter_handler(task, NULL))
        return false;
    run_in_guard(task, list, site, place);
    fg_context_leave_handler(task, top);
    return true;
}

bool fg_kprobes_hit(const struct fg_kprobe_arch *arch, struct fg_func *func,
                    const struct fg_kprobe_place *place, const struct fg_kprobe_site *site)
{
    struct fg_kprobe_list *list = fg_killed() ? NULL : list_hold(arch, func);
    struct fg_task *task = fg_task_current();
    bool is_any = list && is_any_at(list, place);

    if (is_any &&
        !(task && (run_in_guard(task, list, site, place) || run_in_handler(task, list, site, place))))
        count_missed(list, place);
    list_drop(list);
    return is_any;
}
