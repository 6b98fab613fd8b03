/* See fprobe.h. */
#include "engine/probe/fprobe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/root.h"
#include "engine/graph/user_list.h"
#include "engine/probe/fprobe_call.h"
#include "engine/probe/fprobe_list.h"
#include "engine/ring/ring_layout.h"
#include "engine/users/meet.h"
#include "engine/users/users.h"

/* The one user of the function graph that all fprobes of a scope share, from the first of them
 * to the last. */
struct shared_user {
    struct fg_retired retired;
    struct shared_user *next;
    const void *scope;
    struct fprobe *first;
    struct fgraph_ops ops;
};

/* Under the engine's lock. */
static struct shared_user *shared_users;

static bool wants(const struct fg_func *func, const struct fgraph_ops *ops)
{
    return fg_fprobe_list_wants(atomic_load_explicit(&func->fprobes, memory_order_relaxed), ops);
}

static bool wants_returns(const struct fg_func *func, const struct fgraph_ops *ops)
{
    return fg_fprobe_list_wants_returns(atomic_load_explicit(&func->fprobes, memory_order_relaxed), ops);
}

/* ---- from here on the engine's lock is held, unless a comment says otherwise */

static uint32_t piece_words_of(const struct fprobe *fp, bool has_cookie)
{
    return 1 + has_cookie + (uint32_t)((fp->entry_data_size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

static bool saves_regs(const struct fprobe *fp)
{
    return fp->flags & FTRACE_OPS_FL_SAVE_REGS;
}

/* The fast path that general handlers have saves no full set. */
static bool is_general(const struct fprobe *fp)
{
    return fp->exit_handler && (fp->flags & FTRACE_OPS_FL_GENERAL_REGS) && !saves_regs(fp);
}

bool fg_fprobe_filter_matches(const struct fg_fprobe_filter *filter, const char *name, const char *module,
                              bool is_c)
{
    bool is_meant =
        is_c ? fg_patterns_has_name(&filter->filter, name) : fg_patterns_match(&filter->filter, name, module);

    return is_meant && !fg_patterns_match(&filter->notfilter, name, module);
}

static bool sees_native(const struct fprobe *fp)
{
    return fp->flags & FTRACE_OPS_FL_NATIVE;
}

/* A place within a function is no function: the pattern alone that is its name selects it. */
static bool names_place(const struct fg_patterns *set, const struct fg_func *func)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct fg_pattern *pattern = &set->items[i];

        if (pattern->module && !pattern->excludes_module && strcmp(pattern->module, func->module) == 0 &&
            strcmp(pattern->name, func->qualname) == 0)
            return true;
    }
    return false;
}

static bool matches_native(const struct fg_fprobe_filter *filter, const struct fg_func *func)
{
    if (func->flags & FG_FUNC_PLACE)
        return filter->is_native && names_place(&filter->filter, func);
    return fg_patterns_match_native(&filter->filter, func->qualname, func->module) &&
           !fg_patterns_match_native(&filter->notfilter, func->qualname, func->module);
}

static bool matches(const struct fg_fprobe_filter *filter, const struct fg_func *func, bool sees_native)
{
    if (func->flags & FG_FUNC_NATIVE)
        return sees_native && matches_native(filter, func);
    return !filter->is_native &&
           fg_fprobe_filter_matches(filter, func->name, func->module, func->flags & FG_FUNC_C);
}

/* ---- shared users */

static struct shared_user **find_shared(const void *scope)
{
    struct shared_user **at = &shared_users;

    while (*at && (*at)->scope != scope)
        at = &(*at)->next;
    return at;
}

static struct shared_user *shared_new(const void *scope)
{
    struct shared_user *shared = calloc(1, sizeof(*shared));
    struct fg_user *user;

    if (!shared)
        return NULL;
    shared->scope = scope;
    shared->ops =
        (struct fgraph_ops){.entryfunc = fg_fprobes_enter, .retfunc = fg_fprobes_leave, .name = "fprobe"};
    user = fg_user_of(&shared->ops);
    user->scope = scope;
    user->wantsfunc = wants;
    user->wantsreturns = wants_returns;
    user->is_fprobes = true;
    user->sees_native = true; /* lists have those alone of fprobes that do (FTRACE_OPS_FL_NATIVE) */
    user->missedfunc = fg_fprobes_missed;
    return shared;
}

/* The slot of a registered one. */
static uint32_t slot_of(const struct shared_user *shared)
{
    return (uint32_t)fg_user_of_const(&shared->ops)->idx;
}

static bool shared_is_registered(const struct shared_user *shared)
{
    return shared->first != NULL;
}

/* The scope's shared user, or a new one that is not registered yet. NULL: no memory. */
static struct shared_user *shared_get(const void *scope)
{
    struct shared_user *shared = *find_shared(scope);

    return shared ? shared : shared_new(scope);
}

/* Gives back what shared_get returned. */
static void shared_put(struct shared_user *shared)
{
    if (!shared_is_registered(shared))
        free(shared);
}

/* Attaches the shared user to the functions that have fprobes now. On an error nothing has changed. */
static int shared_update(struct shared_user *shared, struct fg_plan *plan)
{
    int error;

    if (shared_is_registered(shared))
        return fg_users_refilter_begin(&shared->ops, plan);
    error = fg_users_register_begin(&shared->ops, plan);
    if (!error)
        *find_shared(shared->scope) = shared;
    return error;
}

/* The link to an fprobe of the shared user; NULL: to the end of its list. */
static struct fprobe **find_fprobe(struct shared_user *shared, const struct fprobe *fp)
{
    struct fprobe **at = &shared->first;

    while (*at && *at != fp)
        at = &fg_fprobe_of(*at)->next;
    return at;
}

/* How many fprobes have filters that match a new function. */
static uint32_t count_matching(const struct fg_func *func)
{
    uint32_t n = 0;

    for (struct shared_user *shared = shared_users; shared; shared = shared->next) {
        if (!fg_domain_is_seen(func->domain, shared->scope))
            continue;
        for (struct fprobe *fp = shared->first; fp; fp = fg_fprobe_of(fp)->next)
            n += matches(&fg_fprobe_of(fp)->filter, func, sees_native(fp));
    }
    return n;
}

static void append_matching(struct fg_fprobe_list *list, const struct fg_func *func,
                            const struct shared_user *shared)
{
    for (struct fprobe *fp = shared->first; fp; fp = fg_fprobe_of(fp)->next) {
        const struct fg_fprobe *state = fg_fprobe_of(fp);

        if (!matches(&state->filter, func, sees_native(fp)))
            continue;
        list->refs[list->n++] = (struct fg_fprobe_ref){.live = state->live,
                                                       .word = state->word,
                                                       .fp = fp,
                                                       .ops = &shared->ops,
                                                       .piece_words = piece_words_of(fp, false),
                                                       .has_exit = fp->exit_handler,
                                                       .saves_regs = saves_regs(fp),
                                                       .is_general = is_general(fp)};
        fg_fprobe_ref_set_slot(&list->refs[list->n - 1], slot_of(shared));
    }
}

static bool attach(struct fg_func *func)
{
    uint32_t n = count_matching(func);
    struct fg_fprobe_list *list = n ? fg_fprobe_list_new(n) : NULL;

    if (!list)
        return !n;
    for (struct shared_user *shared = shared_users; shared; shared = shared->next) {
        if (fg_domain_is_seen(func->domain, shared->scope))
            append_matching(list, func, shared);
    }
    fg_fprobe_list_set_only(list);
    fg_fprobe_list_publish(func, list);
    return true;
}

static void detach(struct fg_func *func)
{
    free(atomic_exchange(&func->fprobes, NULL));
}

static const struct fg_meet_ops meet_ops = {attach, detach};

/* ---- registering */

struct changed {
    struct fg_func *func;
    struct fg_fprobe_list *old;
};

/* A registration in progress. Lists are published with the fprobe before its registration is live. */
struct registering {
    struct fprobe *fp;
    const void *scope;
    struct fg_fprobe_filter *filter; /* NULL: `funcs` is given */
    struct fg_func *const *funcs;
    const uint64_t *cookies;
    size_t nr_funcs;
    bool is_pending; /* no function need match yet */
    struct shared_user *shared;
    struct fg_live *live;
    uint64_t word;
    struct changed *changed;
    size_t nr_changed;
    struct fg_plan plan;
};

static int add_to(struct registering *reg, struct fg_func *func, const uint64_t *cookie)
{
    struct fg_fprobe_list *old = atomic_load_explicit(&func->fprobes, memory_order_relaxed), *list;

    if (fg_fprobe_list_has(old, reg->word)) /* the function was given twice */
        return 0;
    list = fg_fprobe_list_copy(old, 1);
    if (!list)
        return -ENOMEM;
    list->refs[list->n++] = (struct fg_fprobe_ref){.live = reg->live,
                                                   .word = reg->word,
                                                   .fp = reg->fp,
                                                   .ops = &reg->shared->ops,
                                                   .cookie = cookie ? *cookie : 0,
                                                   .piece_words = piece_words_of(reg->fp, cookie),
                                                   .has_cookie = cookie,
                                                   .has_exit = reg->fp->exit_handler,
                                                   .saves_regs = saves_regs(reg->fp),
                                                   .is_general = is_general(reg->fp)};
    fg_fprobe_list_publish(func, list);
    reg->changed[reg->nr_changed++] = (struct changed){func, old};
    return 0;
}

static int add_to_matching(struct registering *reg)
{
    size_t n;
    struct fg_func **funcs = fg_func_table(&n);
    int error = 0;

    for (size_t i = 0; i < n && !error; i++) {
        if (fg_domain_is_seen(funcs[i]->domain, reg->scope) &&
            matches(reg->filter, funcs[i], sees_native(reg->fp)))
            error = add_to(reg, funcs[i], NULL);
    }
    return error || reg->nr_changed || reg->is_pending ? error : -ENOENT;
}

static int add_to_given(struct registering *reg)
{
    int error = 0;

    for (size_t i = 0; i < reg->nr_funcs && !error; i++) {
        struct fg_func *func = reg->funcs[i];

        if (!func || !func->live || !fg_domain_is_seen(func->domain, reg->scope))
            return -ENOENT;
        if ((func->flags & FG_FUNC_NATIVE) && !sees_native(reg->fp))
            return -EOPNOTSUPP;
        error = add_to(reg, func, reg->cookies ? &reg->cookies[i] : NULL);
    }
    return error;
}

static int add_to_functions(struct registering *reg)
{
    size_t nr_known, room;

    fg_func_table(&nr_known);
    room = reg->filter ? nr_known : reg->nr_funcs;
    reg->changed = malloc((room + 1) * sizeof(reg->changed[0]));
    if (!reg->changed)
        return -ENOMEM;
    return reg->filter ? add_to_matching(reg) : add_to_given(reg);
}

static void undo(struct registering *reg)
{
    for (size_t i = 0; i < reg->nr_changed; i++) {
        struct changed *changed = &reg->changed[i];

        fg_fprobe_list_retire(atomic_load_explicit(&changed->func->fprobes, memory_order_relaxed));
        fg_fprobe_list_publish(changed->func, changed->old);
    }
    fg_live_give_back(reg->live);
}

static void commit(struct registering *reg)
{
    struct fg_fprobe *state = fg_fprobe_of(reg->fp);

    for (size_t i = 0; i < reg->nr_changed; i++) {
        struct fg_fprobe_list *list =
            atomic_load_explicit(&reg->changed[i].func->fprobes, memory_order_relaxed);

        /* No callback reads it before fg_live_put(). */
        fg_fprobe_ref_set_slot(&list->refs[list->n - 1], slot_of(reg->shared));
        fg_fprobe_list_set_only(list);
        fg_fprobe_list_retire(reg->changed[i].old);
    }
    state->live = reg->live;
    state->scope = reg->scope;
    state->next = NULL;
    state->has_cookies = reg->cookies != NULL;
    if (reg->filter) {
        state->filter = *reg->filter;
        *reg->filter = (struct fg_fprobe_filter){.filter = {.n = 0}};
    }
    atomic_store_explicit(&state->nmissed, 0, memory_order_relaxed);
    atomic_store_explicit(&state->word, reg->word, memory_order_relaxed);
    *find_fprobe(reg->shared, NULL) = reg->fp;
    fg_live_put(reg->live, reg->word, reg->fp);
}

static int register_through_shared(struct registering *reg)
{
    int error;

    reg->live = fg_live_take();
    if (!reg->live)
        return -ENOMEM;
    reg->word = fg_live_new_word(reg->live);
    reg->nr_changed = 0;
    error = add_to_functions(reg);
    if (!error)
        error = shared_update(reg->shared, &reg->plan);
    if (error)
        undo(reg);
    else
        commit(reg);
    free(reg->changed);
    return error;
}

static int register_attempt(void *arg)
{
    struct registering *reg = arg;
    int error;

    if (fg_fprobe_is_registered(reg->fp))
        return -EEXIST;
    fg_meet_set_ops(&meet_ops);
    reg->shared = shared_get(reg->scope);
    if (!reg->shared)
        return -ENOMEM;
    error = register_through_shared(reg);
    shared_put(reg->shared);
    return error;
}

/* Context: no lock held. */
static int begin(struct registering *reg)
{
    int error =
        reg->fp->entry_data_size > FPROBE_MAX_DATA_BYTES ? -E2BIG : fg_users_try(register_attempt, reg);

    if (!error)
        fg_users_change_end(&reg->plan, true);
    return error;
}

int fg_fprobe_register(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter)
{
    struct registering reg = {.fp = fp, .scope = scope, .filter = filter};

    return fp && filter && filter->filter.n ? begin(&reg) : -EINVAL;
}

int fg_fprobe_register_pending(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter)
{
    struct registering reg = {.fp = fp, .scope = scope, .filter = filter, .is_pending = true};

    return fp && filter && filter->filter.n ? begin(&reg) : -EINVAL;
}

int fg_fprobe_register_ips(struct fprobe *fp, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n)
{
    struct registering reg = {.fp = fp, .scope = scope, .funcs = funcs, .cookies = cookies, .nr_funcs = n};

    return fp && funcs && n ? begin(&reg) : -EINVAL;
}

/* ---- unregistering */

/* An unregistration in progress. */
struct leaving {
    struct shared_user *empty; /* the shared user, if the fprobe was its last; else NULL */
    struct fg_leave leave;
    struct fg_plan plan;
    struct fg_fprobe_filter filter;
};

static void take_off_functions(const void *scope, uint64_t word)
{
    size_t n;
    struct fg_func **funcs = fg_func_table(&n);

    for (size_t i = 0; i < n; i++) {
        if (fg_domain_is_seen(funcs[i]->domain, scope) &&
            fg_fprobe_list_has(atomic_load_explicit(&funcs[i]->fprobes, memory_order_relaxed), word))
            fg_fprobe_list_remove_dead(funcs[i]);
    }
}

static void unregister_begin(struct fprobe *fp, struct leaving *leaving)
{
    struct fg_fprobe *state = fg_fprobe_of(fp);
    struct shared_user **at = find_shared(state->scope), *shared = *at;

    *leaving = (struct leaving){.filter = state->filter};
    fg_live_give_back(state->live);
    take_off_functions(state->scope, state->word);
    *find_fprobe(shared, fp) = state->next;
    state->filter = (struct fg_fprobe_filter){.filter = {.n = 0}};
    atomic_store_explicit(&state->word, 0, memory_order_relaxed);
    if (shared->first) {
        /* Without memory for new lists the user stays attached to functions without fprobes, and does
         * nothing there. */
        fg_users_refilter_begin(&shared->ops, &leaving->plan);
        return;
    }
    *at = shared->next;
    leaving->empty = shared;
    fg_users_leave_begin(&shared->ops, &leaving->leave);
}

/* Context: no lock held. */
static void unregister_end(struct leaving *leaving, bool waits)
{
    if (leaving->empty) {
        fg_users_leave_end(&leaving->leave, waits);
        fg_engine_lock();
        fg_retire(FG_RETIRED_OTHER, &leaving->empty->retired);
        fg_engine_unlock();
    } else {
        fg_users_change_end(&leaving->plan, waits);
    }
    fg_patterns_clear(&leaving->filter.filter);
    fg_patterns_clear(&leaving->filter.notfilter);
}

static int unregister(struct fprobe *fp, bool waits)
{
    struct leaving leaving;
    bool is_here;

    fg_engine_lock();
    is_here = fp && fg_fprobe_is_registered(fp);
    if (is_here)
        unregister_begin(fp, &leaving);
    fg_engine_unlock();
    if (!is_here)
        return -EINVAL;
    unregister_end(&leaving, waits);
    return 0;
}

int fg_fprobe_unregister(struct fprobe *fp)
{
    return unregister(fp, true);
}

int fg_fprobe_unregister_async(struct fprobe *fp)
{
    return unregister(fp, false);
}

/* ---- state of an fprobe; no lock held */

int fg_fprobe_set_enabled(struct fprobe *fp, bool enabled)
{
    bool is_here;

    fg_engine_lock();
    is_here = fp && fg_fprobe_is_registered(fp);
    if (is_here)
        fg_live_set_enabled(fg_fprobe_of(fp)->live, fg_fprobe_of(fp)->word, enabled);
    fg_engine_unlock();
    return is_here ? 0 : -EINVAL;
}

bool fg_fprobe_is_registered(const struct fprobe *fp)
{
    return atomic_load_explicit(&fg_fprobe_of_const(fp)->word, memory_order_relaxed) != 0;
}

bool fg_fprobe_is_enabled(const struct fprobe *fp)
{
    bool is_enabled;

    fg_engine_lock();
    is_enabled = fg_fprobe_is_registered(fp) &&
                 fg_live_has_word(fg_fprobe_of_const(fp)->live, fg_fprobe_of_const(fp)->word);
    fg_engine_unlock();
    return is_enabled;
}

uint64_t fg_fprobe_nmissed(const struct fprobe *fp)
{
    return atomic_load_explicit(&fg_fprobe_of_const(fp)->nmissed, memory_order_relaxed);
}

uint32_t fg_fprobe_count(const void *scope, const struct fg_fprobe_filter *filter)
{
    size_t nr_known;
    uint32_t n = 0;
    struct fg_func **funcs;

    fg_engine_lock();
    funcs = fg_func_table(&nr_known);
    for (size_t i = 0; i < nr_known; i++)
        n += fg_domain_is_seen(funcs[i]->domain, scope) && matches(filter, funcs[i], filter->is_native);
    fg_engine_unlock();
    return n;
}

static bool is_saved_for_user(struct fg_func *func)
{
    const struct fg_user_list *list = atomic_load_explicit(&func->users, memory_order_acquire);

    for (uint32_t i = 0; i < list->n; i++) {
        if (atomic_load_explicit(&list->users[i].ops, memory_order_relaxed)->flags & FTRACE_OPS_FL_SAVE_REGS)
            return true;
    }
    return false;
}

bool fg_func_saves_regs(struct fg_func *func)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(func);

    for (uint32_t i = 0; list && i < list->n; i++) {
        if (list->refs[i].saves_regs && fg_live_has_word(list->refs[i].live, list->refs[i].word))
            return true;
    }
    return is_saved_for_user(func);
}

void fg_fprobe_for_each(const void *scope, void (*visit)(struct fprobe *fp, void *arg), void *arg)
{
    struct shared_user *shared;

    fg_engine_lock();
    shared = *find_shared(scope);
    for (struct fprobe *fp = shared ? shared->first : NULL; fp; fp = fg_fprobe_of(fp)->next)
        visit(fp, arg);
    fg_engine_unlock();
}
