/* Reading a histogram while hits go on. See hist.h. */
#define _GNU_SOURCE
#include <string.h>
#include <time.h>

#include "engine/hist/hist_cell.h"
#include "engine/hist/hist_rows.h"

/* A row is read again while another thread counts in it: at once, then each millisecond, as that thread may
 * not run now. In a forked child it never ends what it began. */
#define READ_TRIES 100u
#define READ_WAITS 1000u

struct reading {
    struct fg_hist *hist;
    uint64_t *rows;
    uint32_t room, n;
};

uint32_t fg_hist_row_words(const struct fg_hist *hist)
{
    const struct fg_hist_layout *at = &hist->at;

    return 1 + hist->map->key_words + at->ended + (at->saved - at->comm) +
           (hist->plan.nr_saved ? 1 + at->saved_words : 0);
}

static void wait_for(unsigned tries)
{
    if (tries >= READ_TRIES)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* `ended` is read first, hitcount last. Equal numbers mean that no hit was in progress, and that none began
 * until the sums had been read. The acquires pair with add(). */
static void read_counters(const struct fg_hist_layout *at, _Atomic uint64_t *counters, uint64_t *out)
{
    bool has_sums = at->ended > at->sums;

    for (unsigned i = 0; i < READ_TRIES + READ_WAITS; i++) {
        uint64_t ended = has_sums ? atomic_load_explicit(&counters[at->ended], memory_order_acquire) : 0;

        for (uint32_t k = at->sums; k < at->ended; k++)
            out[k] = atomic_load_explicit(&counters[k], memory_order_acquire);
        out[0] = atomic_load_explicit(&counters[0], memory_order_relaxed);
        if (!has_sums || out[0] == ended)
            break;
        wait_for(i);
    }
}

enum fg_hist_cell_read fg_hist_read_cell(_Atomic uint64_t *cell, uint64_t *words, uint32_t n)
{
    enum fg_hist_cell_read read = FG_HIST_CELL_CHANGES;

    for (unsigned i = 0; read == FG_HIST_CELL_CHANGES && i < READ_TRIES + READ_WAITS; i++) {
        wait_for(i);
        read = fg_hist_cell_read(cell, words, n);
    }
    return read;
}

/* Stores whether something was saved, and that. */
static void read_saved(const struct fg_hist *hist, _Atomic uint64_t *cell, uint64_t *out)
{
    uint64_t words[1 + FG_HIST_MAX_SAVED * FG_HIST_MAX_KEY_WORDS];
    enum fg_hist_cell_read read = fg_hist_read_cell(cell, words, 1 + hist->at.saved_words);

    memset(out, 0, sizeof(*out) * (1 + hist->at.saved_words));
    if (read != FG_HIST_CELL_SET)
        return;
    out[0] = 1;
    memcpy(out + 1, words + 1, sizeof(*out) * hist->at.saved_words);
}

static void read_row(struct fg_hist_element *element, uint32_t number, void *arg)
{
    struct reading *reading = (struct reading *)arg;
    const struct fg_hist *hist = reading->hist;
    const struct fg_hist_layout *at = &hist->at;
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
    row += at->ended;
    for (uint32_t i = at->comm; i < at->tracked; i++)
        *row++ = atomic_load_explicit(&counters[i], memory_order_relaxed);
    for (uint32_t i = 0; i < hist->plan.nr_tracked; i++)
        *row++ =
            fg_hist_tracked(hist, i, atomic_load_explicit(&counters[at->tracked + i], memory_order_relaxed));
    if (hist->plan.nr_saved)
        read_saved(hist, counters + at->saved, row);
}

uint32_t fg_hist_snapshot(struct fg_hist *hist, uint64_t *rows, uint32_t room, uint64_t *dropped)
{
    struct reading reading = {.hist = hist, .rows = rows, .room = rows ? room : 0};

    fg_hist_map_each(hist->map, read_row, &reading);
    *dropped = fg_hist_map_dropped(hist->map);
    return reading.n;
}
