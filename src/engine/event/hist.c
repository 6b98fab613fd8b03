/* See hist.h. */
#define _GNU_SOURCE
#include "engine/event/hist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/core/compiler.h"

#define COMM_WORDS 2u
/* A row is read again while another thread counts in it: at once, then each millisecond, as that thread may
 * not run now. In a forked child it never ends what it began. */
#define READ_TRIES 100u
#define READ_WAITS 1000u

/* Where an element's counters are, after its key. */
struct layout {
    uint32_t sums;      /* hitcount is before them */
    uint32_t ended;     /* as hitcount, counted after the sums */
    uint32_t comm;      /* what comes from here on is not read again */
    uint32_t variables; /* two words each: enum fg_loaded_kind or 0: not set; the number */
    uint32_t end;
};

struct fg_hist {
    struct fg_hist_map *map;
    _Atomic bool is_paused;
    uint32_t needs;
    struct layout at;
    struct fg_hist_plan plan;
};

static bool is_numeric(const struct fg_hist_term *term)
{
    return term->kind == FG_HIST_KIND_NUMBER || term->kind == FG_HIST_KIND_REAL ||
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

static int check(const struct fg_hist_plan *plan)
{
    if (!plan->nr_keys || plan->nr_keys > FG_HIST_MAX_KEYS || plan->nr_values > FG_HIST_MAX_VALUES ||
        plan->nr_variables > FG_HIST_MAX_VARIABLES || fg_hist_map_size(plan->size) != plan->size)
        return -EINVAL;
    for (uint32_t i = 0; i < plan->nr_keys; i++) {
        if (fg_hist_term_check(&plan->keys[i]))
            return -EINVAL;
    }
    if (check_numbers(plan->values, plan->nr_values))
        return -EINVAL;
    return check_numbers(plan->variables, plan->nr_variables);
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

static struct layout lay_out(const struct fg_hist_plan *plan)
{
    struct layout at = {.sums = 1};

    at.ended = at.sums;
    for (uint32_t i = 0; i < plan->nr_values; i++)
        at.ended += sum_words(&plan->values[i]);
    at.comm = at.ended + (plan->nr_values ? 1 : 0);
    at.variables = at.comm + (plan->keeps_comm ? COMM_WORDS : 0);
    at.end = at.variables + 2 * plan->nr_variables;
    return at;
}

int fg_hist_new(const struct fg_hist_plan *plan, struct fg_hist **hist)
{
    struct fg_hist *made;
    int error = check(plan);

    if (error)
        return error;
    made = (struct fg_hist *)calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->plan = *plan;
    made->at = lay_out(plan);
    made->needs = needs_of(plan->keys, plan->nr_keys) | needs_of(plan->values, plan->nr_values) |
                  needs_of(plan->variables, plan->nr_variables) | (plan->keeps_comm ? FG_HIST_NEEDS_COMM : 0);
    made->map = fg_hist_map_new(plan->size, key_words(plan), made->at.end);
    if (!made->map) {
        free(made);
        return -ENOMEM;
    }
    *hist = made;
    return 0;
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

void fg_hist_clear(struct fg_hist *hist)
{
    fg_hist_map_clear(hist->map);
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
    uint64_t words[COMM_WORDS] = {0, 0};

    if (!hit->comm || atomic_load_explicit(at, memory_order_relaxed))
        return;
    memcpy(words, hit->comm, strnlen(hit->comm, sizeof(words)));
    for (uint32_t i = 0; i < COMM_WORDS; i++)
        atomic_store_explicit(&at[i], words[i], memory_order_relaxed);
}

static void set_variables(const struct fg_hist *hist, _Atomic uint64_t *at, const struct fg_hit *hit)
{
    for (uint32_t i = 0; i < hist->plan.nr_variables; i++, at += 2) {
        struct fg_loaded value = fg_hist_term_run(&hist->plan.variables[i], hit);
        uint32_t kind = value.kind;
        uint64_t number = value.number;

        if (kind == FG_LOADED_FLOAT)
            memcpy(&number, &value.real, sizeof(number));
        else if (kind == FG_LOADED_OBJECT)
            kind = FG_LOADED_UNSIGNED;
        else if (kind == FG_LOADED_TEXT)
            kind = FG_LOADED_NONE;
        atomic_store_explicit(&at[1], number, memory_order_relaxed);
        /* release: pairs with the swap in fg_hist_take() */
        atomic_store_explicit(&at[0], kind, memory_order_release);
    }
}

struct fg_hist_element *fg_hist_count(struct fg_hist *hist, const struct fg_hit *hit)
{
    const struct fg_hist_plan *plan = &hist->plan;
    uint64_t key[FG_HIST_MAX_KEYS * FG_HIST_MAX_KEY_WORDS], hash;
    struct fg_hist_element *element;
    _Atomic uint64_t *counters, *sum;

    if (fg_unlikely(atomic_load_explicit(&hist->is_paused, memory_order_relaxed)))
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

struct fg_loaded fg_hist_take(struct fg_hist *hist, const struct fg_hist *keys, const struct fg_hit *hit,
                              uint32_t index)
{
    uint64_t key[FG_HIST_MAX_KEYS * FG_HIST_MAX_KEY_WORDS], hash;
    struct fg_loaded value = {.kind = FG_LOADED_NONE};
    struct fg_hist_element *element;
    _Atomic uint64_t *at;

    if (hist->map->key_words != keys->map->key_words || index >= hist->plan.nr_variables)
        return value;
    hash = make_key(&keys->plan, hit, key);
    element = fg_hist_map_find(hist->map, key, hash);
    if (!element)
        return value;
    at = fg_hist_counters(hist->map, element) + hist->at.variables + (size_t)2 * index;
    /* acquire: pairs with the release in set_variables() */
    value.kind = atomic_exchange_explicit(at, FG_LOADED_NONE, memory_order_acq_rel);
    value.number = atomic_load_explicit(at + 1, memory_order_relaxed);
    return value;
}

/* ---- reading */

struct reading {
    struct fg_hist *hist;
    uint64_t *rows;
    uint32_t room, n;
};

uint32_t fg_hist_row_words(const struct fg_hist *hist)
{
    return 1 + hist->map->key_words + hist->at.ended + (hist->plan.keeps_comm ? COMM_WORDS : 0);
}

/* `ended` is read first, hitcount last. Equal numbers mean that no hit was in progress, and that none began
 * until the sums had been read. The acquires pair with add(). */
static void read_counters(const struct layout *at, _Atomic uint64_t *counters, uint64_t *out)
{
    bool has_sums = at->ended > at->sums;

    for (unsigned i = 0; i < READ_TRIES + READ_WAITS; i++) {
        uint64_t ended = has_sums ? atomic_load_explicit(&counters[at->ended], memory_order_acquire) : 0;

        for (uint32_t k = at->sums; k < at->ended; k++)
            out[k] = atomic_load_explicit(&counters[k], memory_order_acquire);
        out[0] = atomic_load_explicit(&counters[0], memory_order_relaxed);
        if (!has_sums || out[0] == ended)
            break;
        if (i >= READ_TRIES)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void read_row(struct fg_hist_element *element, uint32_t number, void *arg)
{
    struct reading *reading = (struct reading *)arg;
    const struct fg_hist *hist = reading->hist;
    const struct layout *at = &hist->at;
    uint32_t key_words = hist->map->key_words;
    _Atomic uint64_t *counters = fg_hist_counters(hist->map, element);
    uint64_t *row;

    /* Its first hit is in progress. */
    if (!atomic_load_explicit(counters, memory_order_relaxed))
        return;
    if (reading->n++ >= reading->room)
        return;
    row = reading->rows + (size_t)(reading->n - 1) * fg_hist_row_words(hist);
    *row++ = number;
    memcpy(row, element->words, sizeof(*row) * key_words);
    row += key_words;
    read_counters(at, counters, row);
    for (uint32_t i = at->comm; i < at->variables; i++)
        row[at->ended + i - at->comm] = atomic_load_explicit(&counters[i], memory_order_relaxed);
}

uint32_t fg_hist_snapshot(struct fg_hist *hist, uint64_t *rows, uint32_t room, uint64_t *dropped)
{
    struct reading reading = {.hist = hist, .rows = rows, .room = rows ? room : 0};

    fg_hist_map_each(hist->map, read_row, &reading);
    *dropped = fg_hist_map_dropped(hist->map);
    return reading.n;
}
