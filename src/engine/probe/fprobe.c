/* Registering fprobes over one user of the function graph for each domain. */
#include <errno.h>
#include <stdlib.h>

#include "engine/graph/users.h"
#include "engine/probe/fprobe_internal.h"
#include "engine/ring/ring_layout.h"

/* The user of the function graph that serves a domain: from its first fprobe to its last. */
struct domain {
    struct fg_retired retired;
    struct domain *next;
    void *is; /* as fg_func.domain */
    struct fprobe *first;
    struct fgraph_ops ops;
};

/* Under the engine's lock. */
static struct {
    struct domain *domains;
    uint32_t nr_live; /* places that there are */
    struct fg_live *free;
    uint64_t registrations;
} fprobes;

_Atomic(struct fg_live *) fg_fprobe_chunks[LIVE_MAX / LIVE_CHUNK];

/* ---- who lives */

static struct fg_live *chunk_add(void)
{
    struct fg_live *chunk = fprobes.nr_live < LIVE_MAX ? calloc(LIVE_CHUNK, sizeof(*chunk)) : NULL;

    if (!chunk)
        return NULL;
    for (uint32_t i = 0; i < LIVE_CHUNK; i++) {
        chunk[i].idx = fprobes.nr_live + i;
        chunk[i].next_free = i + 1 < LIVE_CHUNK ? &chunk[i + 1] : NULL;
    }
    /* release: fg_fprobe_living sees the places as they are */
    atomic_store_explicit(&fg_fprobe_chunks[fprobes.nr_live / LIVE_CHUNK], chunk, memory_order_release);
    fprobes.nr_live += LIVE_CHUNK;
    return chunk;
}

/* A place for a registration that begins, or NULL. */
static struct fg_live *live_take(void)
{
    struct fg_live *live = fprobes.free ? fprobes.free : chunk_add();

    if (live)
        fprobes.free = live->next_free;
    return live;
}

static void live_give_back(struct fg_live *live)
{
    /* From here on neither an entry nor a return calls the fprobe. */
    atomic_store_explicit(&live->word, 0, memory_order_release);
    live->next_free = fprobes.free;
    fprobes.free = live;
}

static void live_put(struct fg_live *live, uint64_t word, struct fprobe *fp)
{
    /* release, twice: fg_fprobe_living */
    atomic_store_explicit(&live->fp, fp, memory_order_release);
    atomic_store_explicit(&live->word, word, memory_order_release);
}

/* The registration is there, enabled or not. Engine's lock held. */
static bool is_alive(const struct fg_fprobe_ref *ref)
{
    return (atomic_load_explicit(&ref->live->word, memory_order_relaxed) & ~LIVE_DISABLED) == ref->word;
}

static bool wants(const struct fg_func *func, const struct fgraph_ops *ops)
{
    (void)ops;
    return atomic_load_explicit(&func->fprobes, memory_order_relaxed) != NULL;
}

static bool wants_ends(const struct fg_func *func)
{
    const struct fg_fprobe_list *list = atomic_load_explicit(&func->fprobes, memory_order_relaxed);
    bool wants = false;

    for (uint32_t i = 0; list && i < list->n; i++)
        wants |= list->refs[i].has_exit;
    return wants;
}

/* ---- lists of functions; from here on all is under the engine's lock, unless it says otherwise */

static void publish(struct fg_func *func, struct fg_fprobe_list *list)
{
    /* release: whoever sees the list sees what is in it */
    atomic_store_explicit(&func->fprobes, list, memory_order_release);
}

static void retire(struct fg_fprobe_list *list)
{
    if (list)
        fg_retire(FG_RETIRED_OTHER, &list->retired);
}

static struct fg_fprobe_list *list_new(uint32_t room)
{
    struct fg_fprobe_list *list = malloc(sizeof(*list) + room * sizeof(list->refs[0]));

    if (list)
        list->n = 0;
    return list;
}

static uint32_t piece_words_of(const struct fprobe *fp, bool has_cookie)
{
    return 1 + has_cookie + (uint32_t)((fp->entry_data_size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
}

/* The fprobes of a list (or none) that are alive, with room for `more`; NULL: memory is short. */
static struct fg_fprobe_list *list_copy(const struct fg_fprobe_list *old, uint32_t more)
{
    struct fg_fprobe_list *list = list_new((old ? old->n : 0) + more);

    for (uint32_t i = 0; list && old && i < old->n; i++) {
        if (is_alive(&old->refs[i]))
            list->refs[list->n++] = old->refs[i];
    }
    return list;
}

static bool list_has(const struct fg_fprobe_list *list, uint64_t word)
{
    for (uint32_t i = 0; list && i < list->n; i++) {
        if (list->refs[i].word == word)
            return true;
    }
    return false;
}

static uint32_t list_nr_alive(const struct fg_fprobe_list *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++)
        n += is_alive(&list->refs[i]);
    return n;
}

/* Without memory for a shorter list the old one stays: it does not lead to who left. */
static void list_remove_dead(struct fg_func *func)
{
    struct fg_fprobe_list *old = atomic_load_explicit(&func->fprobes, memory_order_relaxed);
    bool is_empty = !list_nr_alive(old);
    struct fg_fprobe_list *list = is_empty ? NULL : list_copy(old, 0);

    if (!list && !is_empty)
        return;
    publish(func, list);
    retire(old);
}

bool fg_fprobe_filter_matches(const struct fg_fprobe_filter *filter, const char *name, const char *module,
                              bool is_c)
{
    bool is_meant =
        is_c ? fg_patterns_has_name(&filter->filter, name) : fg_patterns_match(&filter->filter, name, module);

    return is_meant && !fg_patterns_match(&filter->notfilter, name, module);
}

static bool matches(const struct fg_fprobe_filter *filter, const struct fg_func *func)
{
    return fg_fprobe_filter_matches(filter, func->name, func->module, func->flags & FG_FUNC_C);
}

/* ---- domains */

static struct domain **find_domain(const void *is)
{
    struct domain **at = &fprobes.domains;

    while (*at && (*at)->is != is)
        at = &(*at)->next;
    return at;
}

static struct domain *domain_new(void *is)
{
    struct domain *domain = calloc(1, sizeof(*domain));
    struct fg_user *user;

    if (!domain)
        return NULL;
    domain->is = is;
    domain->ops =
        (struct fgraph_ops){.entryfunc = fg_fprobes_enter, .retfunc = fg_fprobes_leave, .name = "fprobe"};
    user = fg_user_of(&domain->ops);
    user->domain = is;
    user->wantsfunc = wants;
    user->wantsends = wants_ends;
    user->is_fprobes = true;
    user->missedfunc = fg_fprobes_missed;
    return domain;
}

/* The domain's user goes where its fprobes are. On an error nothing has changed. */
static int domain_update(void *is, struct fg_plan *plan)
{
    struct domain **at = find_domain(is), *domain = *at;
    int error;

    if (domain)
        return fg_users_refilter_begin(&domain->ops, plan);
    domain = domain_new(is);
    if (!domain)
        return -ENOMEM;
    error = fg_users_register_begin(&domain->ops, plan);
    if (error)
        free(domain);
    else
        *at = domain;
    return error;
}

static struct fprobe **domain_find(struct domain *domain, const struct fprobe *fp)
{
    struct fprobe **at = &domain->first;

    while (*at && *at != fp)
        at = &fg_fprobe_of(*at)->next;
    return at;
}

bool fg_fprobes_find(struct fg_func *func)
{
    struct domain *domain = *find_domain(func->domain);
    struct fg_fprobe_list *list;
    uint32_t n = 0;

    for (struct fprobe *fp = domain ? domain->first : NULL; fp; fp = fg_fprobe_of(fp)->next)
        n += matches(&fg_fprobe_of(fp)->filter, func);
    if (!n)
        return true;
    list = list_new(n);
    if (!list)
        return false;
    for (struct fprobe *fp = domain->first; fp; fp = fg_fprobe_of(fp)->next) {
        const struct fg_fprobe *is = fg_fprobe_of(fp);

        if (matches(&is->filter, func))
            list->refs[list->n++] = (struct fg_fprobe_ref){.live = is->live,
                                                           .word = is->word,
                                                           .fp = fp,
                                                           .piece_words = piece_words_of(fp, false),
                                                           .has_exit = fp->exit_handler};
    }
    publish(func, list);
    return true;
}

void fg_fprobes_forget(struct fg_func *func)
{
    free(atomic_exchange(&func->fprobes, NULL));
}

/* ---- registering */

struct changed {
    struct fg_func *func;
    struct fg_fprobe_list *old;
};

/* A registration under way: lists are published with an fprobe that does not live yet. */
struct registering {
    struct fprobe *fp;
    void *domain;
    struct fg_fprobe_filter *filter; /* NULL: the functions given */
    struct fg_func *const *funcs;
    const uint64_t *cookies;
    size_t nr_funcs;
    struct fg_live *live;
    uint64_t word;
    struct changed *changed;
    size_t nr_changed;
    struct fg_plan plan;
};

static int add_to(struct registering *new, struct fg_func *func, const uint64_t *cookie)
{
    struct fg_fprobe_list *old = atomic_load_explicit(&func->fprobes, memory_order_relaxed), *list;

    if (list_has(old, new->word)) /* it was given twice */
        return 0;
    list = list_copy(old, 1);
    if (!list)
        return -ENOMEM;
    list->refs[list->n++] = (struct fg_fprobe_ref){.live = new->live,
                                                   .word = new->word,
                                                   .fp = new->fp,
                                                   .cookie = cookie ? *cookie : 0,
                                                   .piece_words = piece_words_of(new->fp, cookie),
                                                   .has_cookie = cookie,
                                                   .has_exit = new->fp->exit_handler};
    publish(func, list);
    new->changed[new->nr_changed++] = (struct changed){func, old};
    return 0;
}

static int add_to_matching(struct registering *new)
{
    uint32_t n;
    struct fg_func **funcs = fg_func_table(&n);
    int error = 0;

    for (uint32_t i = 0; i < n && !error; i++) {
        if (funcs[i]->domain == new->domain && matches(new->filter, funcs[i]))
            error = add_to(new, funcs[i], NULL);
    }
    return error || new->nr_changed ? error : -ENOENT;
}

static int add_to_given(struct registering *new)
{
    int error = 0;

    for (size_t i = 0; i < new->nr_funcs && !error; i++) {
        struct fg_func *func = new->funcs[i];

        if (!func || !func->live || func->domain != new->domain)
            return -ENOENT;
        error = add_to(new, func, new->cookies ? &new->cookies[i] : NULL);
    }
    return error;
}

static int add_to_functions(struct registering *new)
{
    uint32_t nr_known;
    size_t room;

    fg_func_table(&nr_known);
    room = new->filter ? nr_known : new->nr_funcs;
    new->changed = malloc((room + 1) * sizeof(new->changed[0]));
    if (!new->changed)
        return -ENOMEM;
    return new->filter ? add_to_matching(new) : add_to_given(new);
}

static void undo(struct registering *new)
{
    for (size_t i = 0; i < new->nr_changed; i++) {
        struct changed *changed = &new->changed[i];

        retire(atomic_load_explicit(&changed->func->fprobes, memory_order_relaxed));
        publish(changed->func, changed->old);
    }
    live_give_back(new->live);
}

/* It lives from here on. */
static void commit(struct registering *new)
{
    struct fg_fprobe *is = fg_fprobe_of(new->fp);

    for (size_t i = 0; i < new->nr_changed; i++)
        retire(new->changed[i].old);
    is->live = new->live;
    is->domain = new->domain;
    is->next = NULL;
    is->has_cookies = new->cookies != NULL;
    if (new->filter) {
        is->filter = *new->filter;
        *new->filter = (struct fg_fprobe_filter){.filter = {.n = 0}};
    }
    atomic_store_explicit(&is->nmissed, 0, memory_order_relaxed);
    atomic_store_explicit(&is->word, new->word, memory_order_relaxed);
    *domain_find(*find_domain(new->domain), NULL) = new->fp;
    live_put(new->live, new->word, new->fp);
}

static int register_attempt(void *arg)
{
    struct registering *new = arg;
    int error;

    if (fg_fprobe_is_registered(new->fp))
        return -EEXIST;
    new->live = live_take();
    if (!new->live)
        return -ENOMEM;
    new->word = ++fprobes.registrations << LIVE_REGISTRATION_SHIFT | (uint64_t) new->live->idx
                                                                         << LIVE_IDX_SHIFT;
    new->nr_changed = 0;
    error = add_to_functions(new);
    if (!error)
        error = domain_update(new->domain, &new->plan);
    if (error)
        undo(new);
    else
        commit(new);
    free(new->changed);
    return error;
}

/* Without locks. */
static int begin(struct registering *new)
{
    int error =
        new->fp->entry_data_size > FPROBE_MAX_DATA_BYTES ? -E2BIG : fg_users_try(register_attempt, new);

    if (!error)
        fg_users_change_end(&new->plan, true);
    return error;
}

int fg_fprobe_register(struct fprobe *fp, void *domain, struct fg_fprobe_filter *filter)
{
    struct registering new = {.fp = fp, .domain = domain, .filter = filter};

    return fp && filter && filter->filter.n ? begin(&new) : -EINVAL;
}

int fg_fprobe_register_ips(struct fprobe *fp, void *domain, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n)
{
    struct registering new = {.fp = fp, .domain = domain, .funcs = funcs, .cookies = cookies, .nr_funcs = n};

    return fp && funcs && n ? begin(&new) : -EINVAL;
}

/* ---- unregistering */

/* An fprobe on its way out. */
struct leaving {
    struct domain *empty; /* it was the last of its domain; else NULL */
    struct fg_leave leave;
    struct fg_plan plan;
    struct fg_fprobe_filter filter;
};

static void take_off_functions(const void *domain, uint64_t word)
{
    uint32_t n;
    struct fg_func **funcs = fg_func_table(&n);

    for (uint32_t i = 0; i < n; i++) {
        if (funcs[i]->domain == domain &&
            list_has(atomic_load_explicit(&funcs[i]->fprobes, memory_order_relaxed), word))
            list_remove_dead(funcs[i]);
    }
}

static void unregister_begin(struct fprobe *fp, struct leaving *leaving)
{
    struct fg_fprobe *is = fg_fprobe_of(fp);
    struct domain **at = find_domain(is->domain), *domain = *at;

    *leaving = (struct leaving){.filter = is->filter};
    live_give_back(is->live);
    take_off_functions(is->domain, is->word);
    *domain_find(domain, fp) = is->next;
    is->filter = (struct fg_fprobe_filter){.filter = {.n = 0}};
    atomic_store_explicit(&is->word, 0, memory_order_relaxed);
    if (domain->first) {
        /* Without memory the user stays on functions that have no fprobe any more: it does nothing there. */
        fg_users_refilter_begin(&domain->ops, &leaving->plan);
        return;
    }
    *at = domain->next;
    leaving->empty = domain;
    fg_users_leave_begin(&domain->ops, &leaving->leave);
}

/* Without locks. */
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

/* ---- what can be asked and set; without locks */

int fg_fprobe_set_enabled(struct fprobe *fp, bool enabled)
{
    bool is_here;

    fg_engine_lock();
    is_here = fp && fg_fprobe_is_registered(fp);
    if (is_here)
        atomic_store_explicit(&fg_fprobe_of(fp)->live->word,
                              fg_fprobe_of(fp)->word | (enabled ? 0 : LIVE_DISABLED), memory_order_release);
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
                 fg_fprobe_has_word(fg_fprobe_of_const(fp)->live, fg_fprobe_of_const(fp)->word);
    fg_engine_unlock();
    return is_enabled;
}

uint64_t fg_fprobe_nmissed(const struct fprobe *fp)
{
    return atomic_load_explicit(&fg_fprobe_of_const(fp)->nmissed, memory_order_relaxed);
}

uint32_t fg_fprobe_count(void *domain, const struct fg_fprobe_filter *filter)
{
    uint32_t nr_known, n = 0;
    struct fg_func **funcs;

    fg_engine_lock();
    funcs = fg_func_table(&nr_known);
    for (uint32_t i = 0; i < nr_known; i++)
        n += funcs[i]->domain == domain && matches(filter, funcs[i]);
    fg_engine_unlock();
    return n;
}

void fg_fprobe_for_each(void *domain, void (*visit)(struct fprobe *fp, void *arg), void *arg)
{
    struct domain *of;

    fg_engine_lock();
    of = *find_domain(domain);
    for (struct fprobe *fp = of ? of->first : NULL; fp; fp = fg_fprobe_of(fp)->next)
        visit(fp, arg);
    fg_engine_unlock();
}
