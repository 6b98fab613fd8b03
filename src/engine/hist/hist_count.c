/* Making a histogram, and counting hits. See hist.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "engine/hist/hist.h"
#include "engine/hist/hist_cell.h"
#include "engine/hist/hist_key.h"
#include "engine/hist/hist_rows.h"

static bool is_numeric(const struct fg_hist_term *term)
{
    return term->kind == FG_HIST_KIND_NUMBER || term->kind == FG_HIST_KIND_REAL ||
           term->kind == FG_HIST_KIND_FETCHED || term->kind == FG_HIST_KIND_FETCHED_REAL ||
           term->kind == FG_HIST_KIND_VALUE;
}

static uint32_t sum_words(const struct fg_hist_term *term)
{
    return term->kind == FG_HIST_KIND_VALUE ? 2 : 1;
}

static int check_numbers(const struct fg_hist_term *terms, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (fg_hist_term_check(&terms[i]) || !is_numeric(&terms[i]) || terms[i].modifier != FG_HIST_PLAIN)
            return -EINVAL;
    }
    return 0;
}

static int check_variables(const struct fg_hist_plan *plan)
{
    for (uint32_t i = 0; i < plan->nr_variables; i++) {
        const struct fg_hist_term *term = &plan->variables[i];

        if (fg_hist_term_check(term) || term->modifier != FG_HIST_PLAIN)
            return -EINVAL;
    }
    for (uint32_t i = 0; i < plan->nr_tracked; i++) {
        uint32_t variable = plan->tracked[i].variable;

        if (variable >= plan->nr_variables || !is_numeric(&plan->variables[variable]))
            return -EINVAL;
    }
    for (uint32_t i = 0; i < plan->nr_saved; i++) {
        if (fg_hist_term_check(&plan->saved[i]))
            return -EINVAL;
    }
    return plan->nr_saved && plan->saver >= plan->nr_tracked ? -EINVAL : 0;
}

static int check(const struct fg_hist_plan *plan)
{
    if (!plan->nr_keys || plan->nr_keys > FG_HIST_MAX_KEYS || plan->nr_values > FG_HIST_MAX_VALUES ||
        plan->nr_variables > FG_HIST_MAX_VARIABLES || fg_hist_map_size(plan->size) != plan->size ||
        plan->nr_tracked > FG_HIST_MAX_TRACKED || plan->nr_saved > FG_HIST_MAX_SAVED)
        return -EINVAL;
    for (uint32_t i = 0; i < plan->nr_keys; i++) {
        if (fg_hist_term_check(&plan->keys[i]))
            return -EINVAL;
    }
    if (check_numbers(plan->values, plan->nr_values))
        return -EINVAL;
    return check_variables(plan);
}

static uint32_t needs_of(const struct fg_hist_term *terms, uint32_t n)
{
    uint32_t needs = 0;

    for (uint32_t i = 0; i < n; i++)
        needs |= fg_hist_term_needs(&terms[i]);
    return needs;
}

static uint32_t key_words(const struct fg_hist_plan *plan)
{
    uint32_t words = 0;

    for (uint32_t i = 0; i < plan->nr_keys; i++)
        words += fg_hist_kind_words(plan->keys[i].kind);
    return words;
}

static uint32_t cell_words(const struct fg_hist_term *term)
{
    return 1 + fg_hist_kind_words(term->kind);
}

static struct fg_hist_layout lay_out(const struct fg_hist_plan *plan)
{
    struct fg_hist_layout at = {.sums = 1};

    at.ended = at.sums;
    for (uint32_t i = 0; i < plan->nr_values; i++)
        at.ended += sum_words(&plan->values[i]);
    at.comm = at.ended + (plan->nr_values ? 1 : 0);
    at.tracked = at.comm + (plan->keeps_comm ? FG_HIST_COMM_WORDS : 0);
    at.saved = at.tracked + plan->nr_tracked;
    for (uint32_t i = 0; i < plan->nr_saved; i++)
        at.saved_words += fg_hist_kind_words(plan->saved[i].kind);
    at.variables = at.saved + (plan->nr_saved ? 2 + at.saved_words : 0);
    at.end = at.variables;
    for (uint32_t i = 0; i < plan->nr_variables; i++)
        at.end += cell_words(&plan->variables[i]);
    return at;
}

/* @map: NULL: one of its own is made. */
static int make(const struct fg_hist_plan *plan, struct fg_hist_map *map, struct fg_hist **hist)
{
    struct fg_hist *made = (struct fg_hist *)calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->plan = *plan;
    made->at = lay_out(plan);
    made->needs = needs_of(plan->keys, plan->nr_keys) | needs_of(plan->values, plan->nr_values) |
                  needs_of(plan->variables, plan->nr_variables) | needs_of(plan->saved, plan->nr_saved) |
                  (plan->keeps_comm ? FG_HIST_NEEDS_COMM : 0);
    made->map = map ? map : fg_hist_map_new(plan->size, key_words(plan), made->at.end);
    if (!made->map) {
        free(made);
        return -ENOMEM;
    }
    *hist = made;
    return 0;
}

int fg_hist_new(const struct fg_hist_plan *plan, struct fg_hist **hist)
{
    int error = check(plan);

    return error ? error : make(plan, NULL, hist);
}

static bool are_same_kinds(const struct fg_hist_term *a, const struct fg_hist_term *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        if (a[i].kind != b[i].kind || a[i].modifier != b[i].modifier || a[i].bucket != b[i].bucket)
            return false;
    }
    return true;
}

static bool has_same_rows(const struct fg_hist_plan *a, const struct fg_hist_plan *b)
{
    return a->nr_keys == b->nr_keys && a->nr_values == b->nr_values && a->nr_variables == b->nr_variables &&
           a->nr_saved == b->nr_saved && a->nr_tracked == b->nr_tracked && a->saver == b->saver &&
           a->keeps_comm == b->keeps_comm && a->signed_variables == b->signed_variables &&
           memcmp(a->tracked, b->tracked, sizeof(a->tracked)) == 0 &&
           are_same_kinds(a->keys, b->keys, a->nr_keys) &&
           are_same_kinds(a->values, b->values, a->nr_values) &&
           are_same_kinds(a->variables, b->variables, a->nr_variables) &&
           are_same_kinds(a->saved, b->saved, a->nr_saved);
}

int fg_hist_new_sharing(const struct fg_hist_plan *plan, const struct fg_hist *other, struct fg_hist **hist)
{
    int error = check(plan);

    if (!error && !has_same_rows(plan, &other->plan))
        error = -EEXIST;
    if (!error)
        error = make(plan, other->map, hist);
    if (!error)
        fg_hist_map_share(other->map);
    return error;
}

void fg_hist_free(struct fg_hist *hist)
{
    if (!hist)
        return;
    fg_hist_map_free(hist->map);
    free(hist);
}

uint32_t fg_hist_needs(const struct fg_hist *hist)
{
    return hist->needs;
}

void fg_hist_pause(struct fg_hist *hist, bool is_paused)
{
    atomic_store_explicit(&hist->is_paused, is_paused, memory_order_relaxed);
}

bool fg_hist_is_paused(const struct fg_hist *hist)
{
    return atomic_load_explicit(&hist->is_paused, memory_order_relaxed);
}

void fg_hist_close(struct fg_hist *hist)
{
    atomic_store_explicit(&hist->map->is_closed, true, memory_order_relaxed);
}

void fg_hist_clear(struct fg_hist *hist)
{
    fg_hist_map_clear(hist->map);
    /* release: a hit that finds it open finds it empty */
    atomic_store_explicit(&hist->map->is_closed, false, memory_order_release);
}

/* ---- counting */

static uint64_t make_key(const struct fg_hist_plan *plan, const struct fg_hit *hit, uint64_t *key)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < plan->nr_keys; i++) {
        hash = fg_hist_term_key(&plan->keys[i], hit, key, hash);
        key += fg_hist_kind_words(plan->keys[i].kind);
    }
    return hash;
}

/* release: pairs with the acquire in read_counters(). Who sees a sum with a part of a hit sees that hit in
 * hitcount, which is counted before. */
static void add(_Atomic uint64_t *sum, uint64_t number)
{
    atomic_fetch_add_explicit(sum, number, memory_order_release);
}

static void add_real(_Atomic uint64_t *sum, double number)
{
    uint64_t before = atomic_load_explicit(sum, memory_order_relaxed), after;
    double real;

    do {
        memcpy(&real, &before, sizeof(real));
        real += number;
        memcpy(&after, &real, sizeof(after));
        /* release: as in add() */
    } while (!atomic_compare_exchange_weak_explicit(sum, &before, after, memory_order_release,
                                                    memory_order_relaxed));
}

static void add_value(_Atomic uint64_t *sum, const struct fg_hist_term *term, const struct fg_hit *hit)
{
    struct fg_loaded value = fg_hist_term_run(term, hit);

    if (term->kind == FG_HIST_KIND_REAL)
        add_real(sum, fg_hist_real(&value));
    else if (term->kind == FG_HIST_KIND_VALUE && value.kind == FG_LOADED_FLOAT)
        add_real(sum + 1, value.real);
    else
        add(sum, fg_hist_integer(&value));
}

/* The same comm may be stored by several threads of one pid: they all store its words whole. */
static void keep_comm(_Atomic uint64_t *at, const struct fg_hit *hit)
{
    uint64_t words[FG_HIST_COMM_WORDS] = {0, 0};

    if (!hit->comm || atomic_load_explicit(at, memory_order_relaxed))
        return;
    memcpy(words, hit->comm, strnlen(hit->comm, sizeof(words)));
    for (uint32_t i = 0; i < FG_HIST_COMM_WORDS; i++)
        atomic_store_explicit(&at[i], words[i], memory_order_relaxed);
}

/* Of two hits that set a variable at the same moment one is the last, whichever. */
static void set_variables(const struct fg_hist *hist, _Atomic uint64_t *at, const struct fg_hit *hit)
{
    uint64_t words[FG_HIST_MAX_KEY_WORDS];

    for (uint32_t i = 0; i < hist->plan.nr_variables; i++) {
        const struct fg_hist_term *term = &hist->plan.variables[i];

        fg_hist_term_key(term, hit, words, 0);
        fg_hist_cell_put(at, words, fg_hist_kind_words(term->kind));
        at += cell_words(term);
    }
}

bool fg_hist_is_open(const struct fg_hist *hist)
{
    /* acquire: pairs with fg_hist_clear() */
    return !atomic_load_explicit(&hist->is_paused, memory_order_relaxed) &&
           !atomic_load_explicit(&hist->map->is_closed, memory_order_acquire);
}

struct fg_hist_element *fg_hist_count(struct fg_hist *hist, const struct fg_hit *hit)
{
    const struct fg_hist_plan *plan = &hist->plan;
    uint64_t key[FG_HIST_MAX_KEYS * FG_HIST_MAX_KEY_WORDS], hash;
    struct fg_hist_element *element;
    _Atomic uint64_t *counters, *sum;

    if (fg_unlikely(!fg_hist_is_open(hist)))
        return NULL;
    hash = make_key(plan, hit, key);
    element = fg_hist_map_get(hist->map, key, hash);
    if (fg_unlikely(!element))
        return NULL;
    counters = fg_hist_counters(hist->map, element);
    if (fg_unlikely(plan->keeps_comm))
        keep_comm(counters + hist->at.comm, hit);
    add(counters, 1);
    if (plan->nr_values) {
        sum = counters + hist->at.sums;
        for (uint32_t i = 0; i < plan->nr_values; i++) {
            add_value(sum, &plan->values[i], hit);
            sum += sum_words(&plan->values[i]);
        }
        add(counters + hist->at.ended, 1);
    }
    if (plan->nr_variables)
        set_variables(hist, counters + hist->at.variables, hit);
    return element;
}

/* A histogram with fewer keys is joined by the first of them, as in the kernel. False: it has no such key. */
static bool make_key_of(const struct fg_hist_plan *plan, const struct fg_hist_plan *keys,
                        const struct fg_hit *hit, uint64_t *key, uint64_t *hash)
{
    *hash = 0;
    if (plan->nr_keys > keys->nr_keys)
        return false;
    for (uint32_t i = 0; i < plan->nr_keys; i++) {
        if (!fg_hist_term_key_as(plan->keys[i].kind, &keys->keys[i], hit, key, hash))
            return false;
        key += fg_hist_kind_words(plan->keys[i].kind);
    }
    return true;
}

bool fg_hist_take(struct fg_hist *hist, const struct fg_hist *keys, const struct fg_hit *hit, uint32_t index,
                  uint64_t *words, struct fg_loaded *value)
{
    uint64_t key[FG_HIST_MAX_KEYS * FG_HIST_MAX_KEY_WORDS], hash;
    const struct fg_hist_term *terms = hist->plan.variables;
    struct fg_hist_element *element;
    _Atomic uint64_t *at;

    if (index >= hist->plan.nr_variables ||
        atomic_load_explicit(&hist->map->is_closed, memory_order_acquire) ||
        !make_key_of(&hist->plan, &keys->plan, hit, key, &hash))
        return false;
    element = fg_hist_map_find(hist->map, key, hash);
    if (!element)
        return false;
    at = fg_hist_counters(hist->map, element) + hist->at.variables;
    for (uint32_t i = 0; i < index; i++)
        at += cell_words(&terms[i]);
    if (!fg_hist_cell_take(at, words, fg_hist_kind_words(terms[index].kind)))
        return false;
    *value = fg_hist_term_value(terms[index].kind, hist->plan.signed_variables >> index & 1, words);
    return true;
}
