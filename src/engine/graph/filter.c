/* See filter.h. */
#include "engine/graph/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Both lists are sorted. */
struct fg_tids {
    bool is_all; /* not only the first list */
    size_t n, n_never;
    int tids[]; /* those of the set, then those that are never in it */
};

static int compare_tids(const void *a, const void *b)
{
    int left = *(const int *)a, right = *(const int *)b;

    return (left > right) - (left < right);
}

static size_t size_of_tids(size_t n, size_t n_never)
{
    return sizeof(struct fg_tids) + (n + n_never) * sizeof(int);
}

static void put_sorted(int to[], const int from[], size_t n)
{
    if (!n)
        return;
    memcpy(to, from, n * sizeof(from[0]));
    qsort(to, n, sizeof(to[0]), compare_tids);
}

struct fg_tids *fg_tids_new(const int only[], size_t n, const int never[], size_t n_never)
{
    struct fg_tids *set = malloc(size_of_tids(n, n_never));

    if (!set)
        return NULL;
    *set = (struct fg_tids){.is_all = !only, .n = n, .n_never = n_never};
    put_sorted(set->tids, only, n);
    put_sorted(set->tids + n, never, n_never);
    return set;
}

static struct fg_tids *copy_tids(const struct fg_tids *set)
{
    size_t size = size_of_tids(set->n, set->n_never);
    struct fg_tids *copy = malloc(size);

    return copy ? memcpy(copy, set, size) : NULL;
}

const int *fg_tids_array(const struct fg_tids *set, size_t *n)
{
    *n = set->n;
    return set->is_all ? NULL : set->tids;
}

static bool list_has(const int tids[], size_t n, int tid)
{
    return n && bsearch(&tid, tids, n, sizeof(tid), compare_tids) != NULL;
}

bool fg_tids_has(const struct fg_tids *set, int tid)
{
    return (set->is_all || list_has(set->tids, set->n, tid)) &&
           !list_has(set->tids + set->n, set->n_never, tid);
}

void fg_filter_clear(struct fg_filter *filter)
{
    for (int set = 0; set < FGRAPH_NR_FILTER_SETS; set++)
        fg_patterns_clear(&filter->sets[set]);
    free(filter->tids);
    filter->tids = NULL;
}

int fg_filter_add(struct fg_filter *filter, enum fgraph_filter_set set, const char *const texts[], size_t n,
                  struct fg_pattern_error *error)
{
    int failure = 0;

    for (size_t i = 0; i < n && !failure; i++) {
        error->text = texts[i];
        failure = fg_patterns_add(&filter->sets[set], texts[i], &error->reason, &error->column);
    }
    return failure;
}

int fg_filter_make_none(struct fg_filter *filter)
{
    static const char *const all[] = {"*"};
    struct fg_pattern_error error;

    *filter = (struct fg_filter){0};
    return fg_filter_add(filter, FGRAPH_NOTRACE, all, 1, &error);
}

static int copy_sets(struct fg_filter *to, const struct fg_filter *from)
{
    struct fg_pattern_error error; /* unused: the patterns were parsed before */
    int failure = 0;

    for (int set = 0; set < FGRAPH_NR_FILTER_SETS; set++) {
        const struct fg_patterns *patterns = &from->sets[set];

        for (size_t i = 0; i < patterns->n && !failure; i++) {
            const char *const text[] = {patterns->items[i].text};

            failure = fg_filter_add(to, (enum fgraph_filter_set)set, text, 1, &error);
        }
    }
    return failure;
}

int fg_filter_copy(struct fg_filter *to, const struct fg_filter *from)
{
    int failure;

    *to = (struct fg_filter){.c_calls = from->c_calls, .no_brief = from->no_brief, .irqs = from->irqs};
    failure = copy_sets(to, from);
    if (!failure && from->tids) {
        to->tids = copy_tids(from->tids);
        failure = to->tids ? 0 : -ENOMEM;
    }
    if (failure)
        fg_filter_clear(to);
    return failure;
}

static bool has(const struct fg_filter *filter, enum fgraph_filter_set set, const struct fg_func *func)
{
    return func->flags & FG_FUNC_NATIVE
               ? fg_patterns_match_native(&filter->sets[set], func->qualname, func->module)
               : fg_patterns_match(&filter->sets[set], func->name, func->module);
}

static bool has_name(const struct fg_filter *filter, enum fgraph_filter_set set, const struct fg_func *func)
{
    return fg_patterns_has_name(&filter->sets[set], func->name);
}

bool fg_filter_names(const struct fg_filter *filter, const struct fg_func *func)
{
    return has_name(filter, FGRAPH_FILTER, func) || has_name(filter, FGRAPH_GRAPH, func) ||
           has_name(filter, FGRAPH_GRAPH_NOTRACE, func);
}

/* Without a FGRAPH_FILTER. A native function must be named: one that begins a graph is. */
static bool is_included_by_default(const struct fg_filter *filter, const struct fg_func *func)
{
    return func->flags & FG_FUNC_NATIVE ? has(filter, FGRAPH_GRAPH, func) : !fg_module_is_own(func->module);
}

/* Whether a C function is wanted where functions of the filter call it. */
static bool wants_c_call(const struct fg_filter *filter, const struct fg_func *func)
{
    return filter->c_calls && !(filter->no_brief && (func->flags & FG_FUNC_BRIEF));
}

/* A glob does not select C functions: hooks on their calls would slow the whole program down. Functions of
 * this package are selected by patterns alone that name it. */
static bool is_included(const struct fg_filter *filter, const struct fg_func *func)
{
    if (!filter->sets[FGRAPH_FILTER].n)
        return is_included_by_default(filter, func);
    if (func->flags & FG_FUNC_C)
        return wants_c_call(filter, func) || has_name(filter, FGRAPH_FILTER, func);
    return has(filter, FGRAPH_FILTER, func);
}

/* True if the user sees the function's own calls. */
static bool is_shown(const struct fg_filter *filter, const struct fg_func *func)
{
    return is_included(filter, func) && !has(filter, FGRAPH_NOTRACE, func);
}

static uint32_t irq_flags(const struct fg_filter *filter, const struct fg_func *func)
{
    if (!func->irq || filter->irqs == FG_IRQS_ARE_CALLS)
        return 0;
    return FG_USER_IRQ | (filter->irqs == FG_IRQS_HIDDEN ? FG_USER_IRQ_HIDES : 0);
}

uint32_t fg_filter_flags(const struct fg_filter *filter, const struct fg_func *func)
{
    uint32_t flags = irq_flags(filter, func);

    if (has(filter, FGRAPH_GRAPH_NOTRACE, func))
        flags |= FG_USER_GRAPH_HIDES;
    if (filter->sets[FGRAPH_GRAPH].n)
        flags |= FG_USER_GRAPH_ONLY | (has(filter, FGRAPH_GRAPH, func) ? FG_USER_GRAPH_ROOT : 0);
    if (filter->sets[FGRAPH_GRAPH_NOTRACE].n)
        flags |= FG_USER_GRAPH_MAY_HIDE;
    if (filter->tids)
        flags |= FG_USER_TIDS;
    if (!is_shown(filter, func))
        flags |= FG_USER_SILENT;
    return flags;
}

bool fg_filter_matches(const struct fg_filter *filter, const struct fg_func *func)
{
    if ((func->flags & FG_FUNC_C) && !wants_c_call(filter, func) && !fg_filter_names(filter, func))
        return false;
    /* A function that only begins or hides what the user sees must be hooked as well. */
    return is_shown(filter, func) || has(filter, FGRAPH_GRAPH, func) ||
           has(filter, FGRAPH_GRAPH_NOTRACE, func) || (irq_flags(filter, func) & FG_USER_IRQ_HIDES);
}
