/* See run_set.h. */
#include "tracedata/index/run_set.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"

#define STEP 2 /* the logarithm of how much longer the gaps are that are closed next */
#define MOST_GAP_BITS 62

/* ---- columns */

#define X(name, type, format, text)                                                                          \
    type *name = realloc(columns->name, capacity * sizeof(type));                                            \
    if (!name)                                                                                               \
        return -ENOMEM;                                                                                      \
    columns->name = name;

static int reserve_roots(struct fg_root_columns *columns, size_t capacity)
{
    if (capacity <= columns->capacity)
        return 0;
    capacity += capacity / 2 + 8;
    FG_ROOT_COLUMNS(X)
    columns->capacity = capacity;
    return 0;
}

static int reserve_runs(struct fg_run_columns *columns, size_t capacity)
{
    FG_RUN_COLUMNS(X)
    columns->capacity = capacity;
    return 0;
}
#undef X

/* ---- runs */

static int compare(const void *a, const void *b)
{
    const struct fg_run *one = a, *other = b;

    if (one->root != other->root)
        return one->root < other->root ? -1 : 1;
    return (one->begin_ns > other->begin_ns) - (one->begin_ns < other->begin_ns);
}

static void sort_runs(struct fg_run_set *set)
{
    if (set->nr_runs)
        qsort(set->runs, set->nr_runs, sizeof(*set->runs), compare);
}

static bool are_close(const struct fg_run *one, const struct fg_run *next, unsigned gap_bits)
{
    return one->root == next->root && one->task == next->task && one->depth == next->depth &&
           next->begin_ns <= one->end_ns + (UINT64_C(1) << gap_bits);
}

static void close_gaps(struct fg_run_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->nr_runs; i++) {
        if (n && are_close(&set->runs[n - 1], &set->runs[i], set->gap_bits))
            set->runs[n - 1].end_ns = set->runs[i].end_ns;
        else
            set->runs[n++] = set->runs[i];
    }
    set->nr_runs = n;
}

static void drop_short(struct fg_run_set *set)
{
    size_t n = 0;

    for (size_t i = 0; i < set->nr_runs; i++)
        if ((set->runs[i].end_ns - set->runs[i].begin_ns) >> set->gap_bits)
            set->runs[n++] = set->runs[i];
    set->nr_runs = n;
}

/* Closes gaps between runs of one root, or drops short runs, longer ones until there are half as many runs as
 * there may be. */
FG_NOINLINE static void make_room(struct fg_run_set *set)
{
    sort_runs(set);
    while (set->nr_runs > set->most_runs / 2 && set->gap_bits < MOST_GAP_BITS) {
        set->gap_bits += STEP;
        if (set->drops_short)
            drop_short(set);
        else
            close_gaps(set);
    }
    if (set->nr_runs > set->most_runs / 2)
        set->most_runs = 2 * set->nr_runs; /* there are so many roots and threads */
}

int fg_run_set_add(struct fg_run_set *set, const struct fg_run *run)
{
    struct fg_root_columns *roots = &set->table->roots;

    if (fg_array_reserve(&set->runs, &set->capacity, set->nr_runs + 1) < 0)
        return -ENOMEM;
    set->runs[set->nr_runs++] = *run;
    roots->ran_ns[run->root] += run->end_ns - run->begin_ns;
    roots->calls[run->root] += run->nr_calls;
    if (run->nr_depths > roots->depths[run->root])
        roots->depths[run->root] = run->nr_depths;
    if (run->begin_ns < roots->begin_ns[run->root])
        roots->begin_ns[run->root] = run->begin_ns;
    if (run->end_ns > roots->end_ns[run->root])
        roots->end_ns[run->root] = run->end_ns;
    if (set->nr_runs > set->most_runs)
        make_room(set);
    return 0;
}

int fg_run_set_add_root(struct fg_run_set *set, const struct fg_run_root *root, uint32_t *number)
{
    struct fg_root_columns *roots = &set->table->roots;
    size_t n = roots->n;

    *number = FG_LEFT_OUT;
    if (n >= set->most_roots) {
        set->table->nr_left_out++;
        return 0;
    }
    if (reserve_roots(roots, n + 1) < 0)
        return -ENOMEM;
    roots->n++;
    roots->begin_ns[n] = UINT64_MAX;
    roots->end_ns[n] = roots->ran_ns[n] = roots->first[n] = roots->calls[n] = 0;
    roots->function[n] = root->func;
    roots->maker[n] = root->maker;
    roots->cpu[n] = root->cpu;
    roots->runs[n] = roots->depths[n] = 0;
    roots->kind[n] = (uint8_t)root->kind;
    *number = (uint32_t)n;
    return 0;
}

int fg_run_set_finish(struct fg_run_set *set)
{
    struct fg_run_columns *columns = &set->table->runs;
    struct fg_root_columns *roots = &set->table->roots;

    sort_runs(set);
    if (reserve_runs(columns, set->nr_runs + 1) < 0 || reserve_roots(roots, roots->n + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < set->nr_runs; i++) {
        const struct fg_run *run = &set->runs[i];

        columns->begin_ns[i] = run->begin_ns;
        columns->end_ns[i] = run->end_ns;
        columns->root[i] = run->root;
        columns->task[i] = run->task;
        columns->depth[i] = run->depth;
        if (!roots->runs[run->root]++)
            roots->first[run->root] = i;
    }
    columns->n = set->nr_runs;
    return 0;
}

void fg_run_set_free(struct fg_run_set *set)
{
    free(set->runs);
}
