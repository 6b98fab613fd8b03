/* What a histogram keeps for onmax() and onchange(). See hist.h. */
#include <string.h>

#include "engine/hist/hist_cell.h"
#include "engine/hist/hist_key.h"
#include "engine/hist/hist_rows.h"

#define SIGN (UINT64_C(1) << 63)

/* How a tracked value is ordered: words compare as the numbers do. */
enum order { UNSIGNED, SIGNED, REAL };

static enum order order_of(const struct fg_hist_plan *plan, uint32_t index)
{
    uint32_t variable = plan->tracked[index].variable;

    if (plan->variables[variable].kind != FG_HIST_KIND_NUMBER &&
        plan->variables[variable].kind != FG_HIST_KIND_FETCHED)
        return REAL;
    return plan->signed_variables >> variable & 1 ? SIGNED : UNSIGNED;
}

/* 0 is less than all others: what a fresh element has. The bits of positive doubles are ordered as they are,
 * those of negative ones the other way round. */
static uint64_t ordered(enum order order, const struct fg_loaded *value)
{
    double real = fg_hist_real(value) + 0.0; /* -0 is 0 */
    uint64_t word;

    if (order != REAL)
        return fg_hist_integer(value) ^ (order == SIGNED ? SIGN : 0);
    memcpy(&word, &real, sizeof(word));
    return word & SIGN ? ~word : word | SIGN;
}

/* The integer or the double's bits that ordered() was given. */
static uint64_t as_it_was(enum order order, uint64_t word)
{
    if (order == UNSIGNED || !word)
        return word;
    if (order == SIGNED)
        return word ^ SIGN;
    return word & SIGN ? word & ~SIGN : ~word;
}

static bool raise_word(_Atomic uint64_t *at, uint64_t word)
{
    uint64_t before = atomic_load_explicit(at, memory_order_relaxed);

    while (word > before) {
        if (atomic_compare_exchange_weak_explicit(at, &before, word, memory_order_relaxed,
                                                  memory_order_relaxed))
            return true;
    }
    return false;
}

static void save(const struct fg_hist *hist, _Atomic uint64_t *cell, const struct fg_hit *hit, uint64_t word)
{
    uint64_t words[1 + FG_HIST_MAX_SAVED * FG_HIST_MAX_KEY_WORDS], *at = words;

    *at++ = word;
    for (uint32_t i = 0; i < hist->plan.nr_saved; i++) {
        fg_hist_term_key(&hist->plan.saved[i], hit, at, 0);
        at += fg_hist_kind_words(hist->plan.saved[i].kind);
    }
    fg_hist_cell_put(cell, words, 1 + hist->at.saved_words);
}

uint64_t fg_hist_track_word(const struct fg_hist *hist, uint32_t index, const struct fg_hit *hit)
{
    const struct fg_hist_term *term = &hist->plan.variables[hist->plan.tracked[index].variable];
    struct fg_loaded value = fg_hist_term_run(term, hit);

    return ordered(order_of(&hist->plan, index), &value);
}

bool fg_hist_track_keep(const struct fg_hist_track *track, _Atomic uint64_t *at, uint64_t word)
{
    if (track->is_change)
        return atomic_exchange_explicit(at, word, memory_order_relaxed) != word;
    return raise_word(at, word);
}

bool fg_hist_track(struct fg_hist *hist, struct fg_hist_element *element, uint32_t index,
                   const struct fg_hit *hit)
{
    const struct fg_hist_track *track = &hist->plan.tracked[index];
    struct fg_loaded value = fg_hist_term_run(&hist->plan.variables[track->variable], hit);
    _Atomic uint64_t *counters = fg_hist_counters(hist->map, element);
    _Atomic uint64_t *at = counters + hist->at.tracked + index;
    uint64_t word = ordered(order_of(&hist->plan, index), &value);
    bool is_due;

    if (!fg_hist_is_number(&value))
        return false;
    is_due = fg_hist_track_keep(track, at, word);
    if (is_due && hist->plan.nr_saved && hist->plan.saver == index)
        save(hist, counters + hist->at.saved, hit, word);
    return is_due;
}

uint64_t fg_hist_tracked(const struct fg_hist *hist, uint32_t index, uint64_t word)
{
    return as_it_was(order_of(&hist->plan, index), word);
}
