/* The C API: fprobes, kprobe_multi links, and finding functions. */
#include "arch/cpython/base/compat/exception.h"
#include "binding/capi/capi.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/read/symbols.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/users.h"
#include "binding/core/state.h"
#include "binding/graph/function.h"
#include "engine/core/array.h"

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

int fg_capi_register_fprobe(struct fprobe *fp, const char *filter, const char *notfilter)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_fprobe_filter parsed = {.filter = {.n = 0}};
    int error = parse(&parsed, filter, notfilter);

    if (!error)
        error = fg_cpython_register_fprobe(fp, &parsed);
    fg_fprobe_filter_clear(&parsed);
    fg_exception_put_back(aside);
    return error;
}

int fg_capi_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n)
{
    fg_exception aside = fg_exception_set_aside();
    int error = fg_cpython_register_fprobe_ips(fp, funcs, n);

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
    int error = fg_cpython_kprobe_multi_attach(link, funcs, cookies, n);

    fg_exception_put_back(aside);
    return error;
}

int fg_capi_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const char *filter)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_fprobe_filter parsed = {.filter = {.n = 0}};
    int error = parse(&parsed, filter, NULL);

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

/* ---- functions by whole name */

struct name {
    const char *text;
    bool is_found;
};

/* The functions that have one of the names. They are kept alive until named_clear(). */
struct named {
    struct name *names; /* sorted */
    size_t nr_names;
    struct fg_func **funcs;
    size_t n, capacity;
    bool has_failed;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static struct name *find_name(const struct named *named, const char *text)
{
    struct name key = {.text = text};

    return bsearch(&key, named->names, named->nr_names, sizeof(key), compare_names);
}

static bool is_named(const char *name, const char *Py_UNUSED(module), bool Py_UNUSED(is_c), void *arg)
{
    return find_name(arg, name);
}

static void keep(struct fg_func *func, void *arg)
{
    struct named *named = arg;

    if (fg_array_reserve(&named->funcs, &named->capacity, named->n + 1) != 0) {
        named->has_failed = true;
        return;
    }
    Py_XINCREF(func->arch_data); /* its code; a C function lives as long as the interpreter */
    named->funcs[named->n++] = func;
    find_name(named, func->name)->is_found = true;
}

static void named_clear(struct named *named)
{
    for (size_t i = 0; i < named->n; i++)
        Py_XDECREF(named->funcs[i]->arch_data);
    free(named->funcs);
    free(named->names);
}

/* Return: 0, -ENOENT: no function has one of the names; -ENOMEM, or -EIO. */
static int named_find(struct named *named, const char *const names[], size_t n)
{
    struct fg_symbols_query query = {
        .kinds = FG_SYMBOLS_PYTHON | FG_SYMBOLS_C, .wants = is_named, .found = keep, .arg = named};
    struct fg_interp *interp = fg_engine_here();

    *named = (struct named){.names = calloc(n, sizeof(struct name)), .nr_names = n};
    if (!interp || !named->names)
        return interp ? -ENOMEM : -EIO;
    for (size_t i = 0; i < n; i++)
        named->names[i].text = names[i];
    qsort(named->names, n, sizeof(struct name), compare_names);
    if (fg_symbols_meet(interp, &query) < 0 || named->has_failed)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        if (!find_name(named, named->names[i].text)->is_found)
            return -ENOENT;
    }
    return 0;
}

int fg_capi_register_fprobe_syms(struct fprobe *fp, const char *const names[], size_t n)
{
    fg_exception aside;
    struct named named;
    int error;

    for (size_t i = 0; names && i < n; i++) {
        if (!names[i])
            return -EINVAL;
    }
    if (!names || !n)
        return -EINVAL;
    aside = fg_exception_set_aside();
    error = named_find(&named, names, n);
    if (!error)
        error = fg_cpython_register_fprobe_ips(fp, named.funcs, named.n);
    named_clear(&named);
    fg_exception_put_back(aside);
    return error;
}

size_t fg_capi_funcs_named(const char *name, struct fg_func *funcs[], size_t room)
{
    fg_exception aside = fg_exception_set_aside();
    struct named named;
    size_t n;

    named_find(&named, &name, 1);
    n = named.n;
    if (n && room)
        memcpy(funcs, named.funcs, (n < room ? n : room) * sizeof(funcs[0]));
    named_clear(&named);
    fg_exception_put_back(aside);
    return n;
}

/* ---- functions by object */

/* The record of a Function of this module, or NULL. */
static struct fg_func *func_of_function(PyObject *object)
{
    PyObject *module = fg_engine_module_of(Py_TYPE(object));

    if (!module || !Py_IS_TYPE(object, fg_engine_state(module)->function_type))
        return NULL;
    return fg_function_record(object);
}

struct fg_func *fg_capi_func_of(PyObject *callable)
{
    fg_exception aside = fg_exception_set_aside();
    struct fg_interp *interp = callable ? fg_engine_here() : NULL;
    struct fg_func *func = interp ? func_of_function(callable) : NULL;

    if (interp && !func)
        func = fg_symbols_func_of(interp, callable);
    fg_exception_put_back(aside);
    return func;
}
