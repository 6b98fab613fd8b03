/* See hist_taken.h. */
#include "engine/hist/hist_taken.h"

#include <string.h>

#include "engine/hist/hist_cell.h"
#include "engine/hist/hist_rows.h"

static uint32_t words_of(const struct fg_hist *hist)
{
    return 1 + FG_HIST_COMM_WORDS + hist->map->key_words;
}

/* The keys may be cleared later, so they are copied. */
bool fg_hist_taken_note(struct fg_hist_taken *taken, const struct fg_hist *hist,
                        struct fg_hist_element *element, uint32_t index, const struct fg_hit *hit)
{
    uint64_t words[FG_HIST_TAKEN_WORDS] = {0}, word = fg_hist_track_word(hist, index, hit);
    _Atomic uint64_t *comm = fg_hist_counters(hist->map, element) + hist->at.comm;

    if (!fg_hist_track_keep(&hist->plan.tracked[index], &taken->word, word))
        return false;
    words[0] = fg_hist_tracked(hist, index, word);
    for (uint32_t i = 0; hist->plan.keeps_comm && i < FG_HIST_COMM_WORDS; i++)
        words[1 + i] = atomic_load_explicit(&comm[i], memory_order_relaxed);
    memcpy(words + 1 + FG_HIST_COMM_WORDS, element->words, sizeof(words[0]) * hist->map->key_words);
    fg_hist_cell_put(taken->cell, words, words_of(hist));
    return true;
}

uint32_t fg_hist_taken_read(struct fg_hist_taken *taken, const struct fg_hist *hist, uint64_t *words)
{
    return fg_hist_read_cell(taken->cell, words, words_of(hist)) == FG_HIST_CELL_SET ? words_of(hist) : 0;
}
