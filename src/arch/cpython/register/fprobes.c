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

unsigned fg_fprobe_filter_kinds(const struct fg_fprobe_filter *filter)
{
    return FG_SYMBOLS_PYTHON | (filter->filter.nr_names ? FG_SYMBOLS_C : 0);
}

static bool matches(const char *name, const char *module, bool is_c, void *arg)
{
    const struct fg_fprobe_filter *filter = arg;

    return fg_fprobe_filter_matches(filter, name, module, is_c);
}

/* The engine matches function records only: make the records of matching functions that have none yet. */
static int meet(struct fg_interp *interp, const struct fg_fprobe_filter *filter)
{
    struct fg_symbols_query query = {
        .kinds = fg_fprobe_filter_kinds(filter),
        .wants = matches,
        .arg = (void *)(uintptr_t)filter,
    };

    return fg_symbols_meet(interp, &query) < 0 ? -ENOMEM : 0;
}

typedef int (*register_filter)(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter);

static int meet_and_register(struct fprobe *fp, struct fg_fprobe_filter *filter, register_filter registers)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = meet(fg_interp_known(), filter);
    if (!error)
        error = registers(fp, fg_interp_known(), filter);
    fg_hooks_release();
    return error;
}

int fg_cpython_register_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter)
{
    return meet_and_register(fp, filter, fg_fprobe_register);
}

int fg_cpython_register_pending_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter)
{
    return meet_and_register(fp, filter, fg_fprobe_register_pending);
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

int fg_cpython_count_ips(const struct fg_fprobe_filter *filter)
{
    struct fg_interp *interp = fg_engine_here();
    int error = interp ? meet(interp, filter) : -EIO;
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
    error = meet(fg_interp_known(), filter);
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
