/* A histogram: how often an event was hit with which keys, and sums of values.
 *
 * Hits are counted by any number of threads and handlers of signals, without a lock. Every hit is in the
 * count of a key or in `dropped`, except those while it is paused. Who lets threads count sees to it that
 * they are in the guard (task.h): clearing and freeing wait for nobody. */
#ifndef FG_HIST_H
#define FG_HIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/hist/hist_map.h"
#include "engine/hist/hist_term.h"

#define FG_HIST_MAX_KEYS 8u
#define FG_HIST_MAX_VALUES 8u
#define FG_HIST_MAX_VARIABLES 16u
#define FG_HIST_MAX_TRACKED 8u
#define FG_HIST_MAX_SAVED 8u
#define FG_HIST_COMM_WORDS 2u

/* What a row keeps of a variable for onmax() or onchange(). */
struct fg_hist_track {
    uint8_t variable; /* a number */
    bool is_change;   /* its last value, else its largest */
};

/* What a histogram is made of. Only keys have modifiers. A value is a number: a NUMBER or REAL has one word
 * for its sum, a VALUE two: for its integers and for its floats. What is not a number adds 0. No variable is
 * a stack. */
struct fg_hist_plan {
    uint32_t size; /* of fg_hist_map_size() */
    uint32_t nr_keys, nr_values, nr_variables;
    bool keeps_comm; /* of the thread that hit a key first: .execname */
    struct fg_hist_term keys[FG_HIST_MAX_KEYS];
    struct fg_hist_term values[FG_HIST_MAX_VALUES];
    struct fg_hist_term variables[FG_HIST_MAX_VARIABLES];
    uint32_t signed_variables; /* a bit for each that is a NUMBER and signed */
    uint32_t nr_tracked, nr_saved;
    uint32_t saver; /* the one of `tracked` that saves */
    struct fg_hist_track tracked[FG_HIST_MAX_TRACKED];
    struct fg_hist_term saved[FG_HIST_MAX_SAVED];
};

struct fg_hist;

/**
 * fg_hist_new() - Make an empty histogram. All of its memory is reserved now.
 * @plan: stays the caller's
 *
 * Return: 0; -EINVAL: no key, too many of something, or a bad term; -ENOMEM.
 */
int fg_hist_new(const struct fg_hist_plan *plan, struct fg_hist **hist);

/**
 * fg_hist_new_sharing() - Make a histogram of another event that counts in the same table.
 * @plan: the fields may lie elsewhere in its event; all else must be as in @other. Its size does not matter.
 *
 * Return: as fg_hist_new(); -EEXIST: its rows are not made as those of @other.
 */
int fg_hist_new_sharing(const struct fg_hist_plan *plan, const struct fg_hist *other, struct fg_hist **hist);
/* Context: no thread counts any longer. */
void fg_hist_free(struct fg_hist *hist);

/* What its hits must bring: a set of enum fg_hist_need. */
uint32_t fg_hist_needs(const struct fg_hist *hist);

/**
 * fg_hist_count() - Count a hit.
 *
 * Return: the element of its key, its variables set; NULL: the table is full, or the histogram is paused.
 * Context: any.
 */
struct fg_hist_element *fg_hist_count(struct fg_hist *hist, const struct fg_hit *hit);

/**
 * fg_hist_take() - Take a variable that a hit with the same keys has set.
 * @hist: whose variable it is
 * @keys: the histogram whose keys are made of the hit; they need not have the same names or types
 * @index: of the variable
 * @words: FG_HIST_MAX_KEY_WORDS; a text is kept there
 * @value: set to its value
 *
 * Return: false: there is no such element, or another hit has taken it.
 * Context: any.
 */
bool fg_hist_take(struct fg_hist *hist, const struct fg_hist *keys, const struct fg_hit *hit, uint32_t index,
                  uint64_t *words, struct fg_loaded *value);

/**
 * fg_hist_track() - Keep what onmax() or onchange() keeps of a hit.
 * @element: what fg_hist_count() returned for the hit
 * @index: in the plan's `tracked`
 *
 * A first 0 of an unsigned number is neither larger nor a change, as in the kernel; nor is what is no number.
 * If two threads save into a row at the same moment, one of them does.
 *
 * Return: true if the action is due: the value is the largest of its row so far, or not the last one.
 * Context: any.
 */
bool fg_hist_track(struct fg_hist *hist, struct fg_hist_element *element, uint32_t index,
                   const struct fg_hit *hit);

void fg_hist_pause(struct fg_hist *hist, bool is_paused);
bool fg_hist_is_paused(const struct fg_hist *hist);
/* Whether it counts hits: it is not paused, and its table is not being emptied. */
bool fg_hist_is_open(const struct fg_hist *hist);

/* Closes its table, also for those that share it: hits are not counted until fg_hist_clear() opens it. */
void fg_hist_close(struct fg_hist *hist);
/* Forgets all keys and what was dropped. Context: it is closed, and no thread counts any longer. */
void fg_hist_clear(struct fg_hist *hist);

/* ---- reading */

/* A row of a snapshot, in 8-byte words:
 *
 *     the element's number: lower ones came first
 *     its keys, each fg_hist_kind_words() long
 *     hitcount
 *     the sums
 *     the comm of who hit it first, 2 words, if the plan says so
 *     what is tracked, a word each: an integer, or the double of a REAL or VALUE
 *     if the plan saves: 1 or 0 (nothing was saved), then what was saved, each fg_hist_kind_words() long */
uint32_t fg_hist_row_words(const struct fg_hist *hist);

/**
 * fg_hist_snapshot() - Copy the rows as they are now, in no order.
 * @rows: NULL: only count them
 * @room: in rows
 * @dropped: what did not fit into the table
 *
 * The sums of a row are of exactly the hits that its hitcount counts. Where a thread was in the middle of a
 * hit when the process forked, the child waits a second for it, then gives up.
 *
 * Return: how many rows there are; those beyond @room are not copied.
 * Context: outside of callbacks, as it may wait for a hit to end. Hits go on.
 */
uint32_t fg_hist_snapshot(struct fg_hist *hist, uint64_t *rows, uint32_t room, uint64_t *dropped);

#endif
