/* The C API: fprobes, kretprobes and kprobe_multi links. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/register/fprobes.h"
#include "binding/capi/capi.h"
#include "binding/capi/capi_names.h"
#include "engine/probe/kretprobe.h"

/* ---- patterns, separated by spaces */

static int add_pattern(struct fg_patterns *set, const char *text, size_t bytes)
{
    char *pattern = strndup(text, bytes);
    const char *reason;
    size_t column;
    int error = pattern ? fg_patterns_add(set, pattern, &reason, &column) : -ENOMEM;

    free(pattern);
    return error;
}

/* A text of NULL has no patterns. */
static int add_patterns(struct fg_patterns *set, const char *text)
{
    int error = 0;

    while (text && *text && !error) {
        size_t bytes = strcspn(text, " ");

        if (bytes)
            error = add_pattern(set, text, bytes);
        text += bytes + (text[bytes] == ' ');
    }
    return error;
}

/* Return: 0, -EINVAL: a pattern does not parse, or `filter` has none; or -ENOMEM. */
static int parse(struct fg_fprobe_filter *out, const char *filter, const char *notfilter)
{
    int error = add_patterns(&out->filter, filter);

    if (!error)
        error = add_patterns(&out->notfilter, notfilter);
    return error || out->filter.n ? error : -EINVAL;
}

/* ---- fprobes */

/* For an fprobe that sees native functions. An exception may be left set. */
static int hook_native(const struct fprobe *fp, const struct fg_fprobe_filter *filter)
{
    return fp && (fp->flags & FTRACE_OPS_FL_NATIVE) ? fg_capi_hook_native(&filter->filter) : 0;
}

int fg_capi_register_fprobe(struct fprobe *fp, const char *filter, const char *notfilter)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_fprobe_filter parsed = {.filter = {.n = 0}};
    int error = parse(&parsed, filter, notfilter);

    if (!error)
        error = fg_capi_be_here();
    if (!error)
        error = hook_native(fp, &parsed);
    if (!error)
        error = fg_cpython_register_fprobe(fp, &parsed);
    fg_fprobe_filter_clear(&parsed);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_capi_be_here();

    if (!error)
        error = fg_cpython_register_fprobe_ips(fp, funcs, n);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_register_fprobe_syms(struct fprobe *fp, const char *const names[], size_t n)
{
    fg_exception aside;
    struct fg_named named;
    int error;

    for (size_t i = 0; names && i < n; i++) {
        if (!names[i])
            return -EINVAL;
    }
    if (!names || !n)
        return -EINVAL;
    aside = fg_exception_set_aside();
    error = fg_named_find(&named, names, n);
    if (!error)
        error = fg_cpython_register_fprobe_ips(fp, named.funcs, named.n);
    fg_named_clear(&named);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_unregister_fprobe(struct fprobe *fp)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_cpython_unregister_fprobe(fp);

    fg_exception_put_back(aside);
    return error;
}

int fg_capi_unregister_fprobe_async(struct fprobe *fp)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_cpython_unregister_fprobe_async(fp);

    fg_exception_put_back(aside);
    return error;
}

int fg_capi_enable_fprobe(struct fprobe *fp)
{
    return fg_fprobe_set_enabled(fp, true);
}

int fg_capi_disable_fprobe(struct fprobe *fp)
{
    return fg_fprobe_set_enabled(fp, false);
}

int fg_capi_fprobe_is_registered(const struct fprobe *fp)
{
    return fg_fprobe_is_registered(fp);
}

int fg_capi_fprobe_count_ips_from_filter(const char *filter, const char *notfilter)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_fprobe_filter parsed = {.filter = {.n = 0}};
    int n = parse(&parsed, filter, notfilter);

    if (!n)
        n = fg_cpython_count_ips(&parsed);
    fg_fprobe_filter_clear(&parsed);
    fg_exception_put_back(aside);
    return n;
}

/* ---- kprobe_multi */

int fg_capi_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                const uint64_t cookies[], size_t n)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_capi_be_here();

    if (!error)
        error = fg_cpython_kprobe_multi_attach(link, funcs, cookies, n);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const char *filter)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_fprobe_filter parsed = {.filter = {.n = 0}};
    int error = parse(&parsed, filter, NULL);

    if (!error)
        error = fg_capi_be_here();
    if (!error && link)
        error = hook_native(&link->fprobe, &parsed);
    if (!error)
        error = fg_cpython_kprobe_multi_attach_filter(link, &parsed);
    fg_fprobe_filter_clear(&parsed);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_kprobe_multi_detach(struct kprobe_multi_link *link)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_cpython_kprobe_multi_detach(link);

    fg_exception_put_back(aside);
    return error;
}

/* ---- kretprobes */

int fg_capi_register_kretprobe(struct kretprobe *rp)
{
    int error = fg_kretprobe_prepare(rp);

    if (error)
        return error;
    return rp->func ? fg_capi_register_fprobe_ips(&rp->fprobe, &rp->func, 1)
                    : fg_capi_register_fprobe_syms(&rp->fprobe, &rp->symbol_name, 1);
}

int fg_capi_unregister_kretprobe(struct kretprobe *rp)
{
    return rp ? fg_capi_unregister_fprobe(&rp->fprobe) : -EINVAL;
}

int fg_capi_enable_kretprobe(struct kretprobe *rp)
{
    return rp ? fg_capi_enable_fprobe(&rp->fprobe) : -EINVAL;
}

int fg_capi_disable_kretprobe(struct kretprobe *rp)
{
    return rp ? fg_capi_disable_fprobe(&rp->fprobe) : -EINVAL;
}

uint64_t fg_capi_kretprobe_nmissed(const struct kretprobe *rp)
{
    return fg_fprobe_nmissed(&rp->fprobe);
}
