/* What a histogram keeps for the action snapshot() of onmax() or onchange(): one value of all rows together.
 *
 * As in the kernel the action is due if two things hold. In its row the value is the largest, or another one
 * than the last. And so it is among all rows: the largest, or another one than the last that took a
 * snapshot. */
#ifndef FG_HIST_TAKEN_H
#define FG_HIST_TAKEN_H

#include "engine/hist/hist.h"

/* The value, as in a row of fg_hist_snapshot(), the comm of the row, and its keys. */
#define FG_HIST_TAKEN_WORDS (1 + FG_HIST_COMM_WORDS + FG_HIST_MAX_KEYS * FG_HIST_MAX_KEY_WORDS)

/* All zeros: it has taken no snapshot. */
struct fg_hist_taken {
    _Atomic uint64_t word; /* the value, in the order of what rows track */
    _Atomic uint64_t cell[1 + FG_HIST_TAKEN_WORDS];
};

/**
 * fg_hist_taken_note() - Note a hit that may be due to take a snapshot.
 * @element: the hit's row
 * @index: in the plan's `tracked`; fg_hist_track() has returned true
 *
 * If two threads note a hit at the same moment, fg_hist_taken_read() may tell of either.
 *
 * Return: true if the action is due.
 * Context: any.
 */
bool fg_hist_taken_note(struct fg_hist_taken *taken, const struct fg_hist *hist,
                        struct fg_hist_element *element, uint32_t index, const struct fg_hit *hit);

/**
 * fg_hist_taken_read() - Read what took the last snapshot.
 * @words: FG_HIST_TAKEN_WORDS
 *
 * Return: how many words that is; 0: no snapshot was taken.
 * Context: outside of callbacks, as it may wait for a hit to end.
 */
uint32_t fg_hist_taken_read(struct fg_hist_taken *taken, const struct fg_hist *hist, uint64_t *words);

#endif
