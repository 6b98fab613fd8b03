/* See fprobes.h. */
#include "arch/cpython/register/fprobes.h"

#include <errno.h>

#include "arch/cpython/read/symbols.h"
#include "arch/cpython/register/users.h"

void fg_fprobe_filter_clear(struct fg_fprobe_filter *filter)
{
    fg_patterns_clear(&filter->filter);
    fg_patterns_clear(&filter->notfilter);
}

/* C functions match only by their whole name. */
static unsigned kinds_of(const struct fg_fprobe_filter *filter)
{
    return FG_SYMBOLS_PYTHON | (filter->filter.nr_names ? FG_SYMBOLS_C : 0);
}

Py_ssize_t fg_fprobe_filter_meet(struct fg_interp *interp, const struct fg_fprobe_filter *filter,
                                 struct fg_symbols_query query)
{
    struct fg_name_tails names = {.last_characters = 0};
    Py_ssize_t count = fg_name_tails_add_patterns(&names, &filter->filter);

    query.kinds &= kinds_of(filter);
    query.c_names = &names;
    query.python_names = filter->filter.nr_names == filter->filter.n ? &names : NULL;
    if (!count && query.kinds)
        count = fg_symbols_meet(interp, &query);
    fg_name_tails_clear(&names);
    return count;
}

static bool matches(const char *name, const char *module, bool is_c, void *arg)
{
    const struct fg_fprobe_filter *filter = arg;

    return fg_fprobe_filter_matches(filter, name, module, is_c);
}

/* The engine matches function records only: make the records of matching functions that have none yet. */
static int meet(struct fg_interp *interp, const struct fg_fprobe_filter *filter,
                struct fg_symbols_query query)
{
    query.wants = matches;
    query.arg = (void *)(uintptr_t)filter;
    return fg_fprobe_filter_meet(interp, filter, query) < 0 ? -ENOMEM : 0;
}

static int meet_all(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    return meet(interp, filter, (struct fg_symbols_query){.kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C});
}

/* A Python function that nobody has met is met at its next call, and then gets the fprobes whose filters
 * match. So for a filter that stays it need not be looked for. A C function does: its calls are hooked only
 * if some C function has users. */
static int meet_c(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    return meet(interp, filter, (struct fg_symbols_query){.kinds = FG_SYMBOLS_C});
}

/* Return: 0: a function matches, which has a record; -ENOENT: none; -ENOMEM. */
static int meet_any(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    struct fg_symbols_query query = {.kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C, .first_only = true};
    int error = fg_fprobe_count(interp, filter) ? 0 : meet(interp, filter, query);

    return error || fg_fprobe_count(interp, filter) ? error : -ENOENT;
}

/* The engine refuses a filter that nothing matches, after errors that come first. */
static int meet_c_or_any(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    int error = meet_c(interp, filter);

    if (!error)
        error = meet_any(interp, filter);
    return error == -ENOENT ? 0 : error;
}

typedef int (*meet_filter)(struct fg_interp *interp, const struct fg_fprobe_filter *filter);
typedef int (*register_filter)(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter);

static int meet_and_register(struct fprobe *fp, struct fg_fprobe_filter *filter, meet_filter meets,
                             register_filter registers)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = meets(fg_interp_known(), filter);
    if (!error)
        error = registers(fp, fg_interp_known(), filter);
    fg_hooks_release();
    return error;
}

int fg_cpython_register_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter)
{
    return meet_and_register(fp, filter, meet_c_or_any, fg_fprobe_register);
}

int fg_cpython_register_pending_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter)
{
    return meet_and_register(fp, filter, meet_c, fg_fprobe_register_pending);
}

/* Native functions are met when their objects are looked at. */
static int meet_nothing(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    (void)interp, (void)filter;
    return 0;
}

int fg_cpython_register_native_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter)
{
    return meet_and_register(fp, filter, meet_nothing, fg_fprobe_register_pending);
}

int fg_cpython_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = fg_fprobe_register_ips(fp, fg_interp_known(), funcs, NULL, n);
    fg_hooks_release();
    return error;
}

static bool is_here(const struct fprobe *fp)
{
    return fp && fg_fprobe_is_registered(fp) && fg_fprobe_of_const(fp)->scope == fg_interp_known();
}

static int unregister(struct fprobe *fp, int (*leave)(struct fprobe *fp))
{
    int error = is_here(fp) ? leave(fp) : -EINVAL;

    fg_hooks_stop_if_unused();
    return error;
}

int fg_cpython_unregister_fprobe(struct fprobe *fp)
{
    return unregister(fp, fg_fprobe_unregister);
}

int fg_cpython_unregister_fprobe_async(struct fprobe *fp)
{
    return unregister(fp, fg_fprobe_unregister_async);
}

int fg_cpython_check_functions(const struct fg_fprobe_filter *filter)
{
    struct fg_interp *interp = fg_engine_here();

    if (interp && filter->is_native)
        return fg_fprobe_count(interp, filter) ? 0 : -ENOENT;
    return interp ? meet_any(interp, filter) : -EIO;
}

int fg_cpython_count_ips(const struct fg_fprobe_filter *filter)
{
    struct fg_interp *interp = fg_engine_here();
    int error = interp ? meet_all(interp, filter) : -EIO;
    uint32_t n = error ? 0 : fg_fprobe_count(interp, filter);

    if (!error && !n)
        error = -ENOENT;
    return error ? error : (int)n;
}

int fg_cpython_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                   const uint64_t cookies[], size_t n)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = fg_kprobe_multi_attach(link, fg_interp_known(), funcs, cookies, n);
    fg_hooks_release();
    return error;
}

int fg_cpython_kprobe_multi_attach_filter(struct kprobe_multi_link *link, struct fg_fprobe_filter *filter)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = meet_all(fg_interp_known(), filter);
    if (!error)
        error = fg_kprobe_multi_attach_filter(link, fg_interp_known(), filter);
    fg_hooks_release();
    return error;
}

int fg_cpython_kprobe_multi_detach(struct kprobe_multi_link *link)
{
    int error = link && is_here(&link->fprobe) ? fg_kprobe_multi_detach(link) : -EINVAL;

    fg_hooks_stop_if_unused();
    return error;
}

static void note_first(struct fprobe *fp, void *arg)
{
    struct fprobe **first = arg;

    if (!*first)
        *first = fp;
}

void fg_cpython_unregister_fprobes(void)
{
    struct fprobe *fp;

    do {
        fp = NULL;
        fg_fprobe_for_each(fg_interp_known(), note_first, &fp);
    } while (fp && fg_cpython_unregister_fprobe(fp) == 0);
}
