/* See repeat_counts.h. */
#include "tracedata/answers/repeat_counts.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 8u
#define MOST_SLOTS (1u << 14)

void fg_repeat_counts_free(struct fg_repeat_counts *counts)
{
    if (counts)
        free(counts->slots);
    free(counts);
}

/* The slot of a key, or the empty one where it belongs. */
static struct fg_repeat_count *slot_of(const struct fg_repeat_counts *counts, uint64_t key)
{
    uint32_t at = (uint32_t)key;

    for (;; at++) {
        struct fg_repeat_count *slot = &counts->slots[at & (counts->nr_slots - 1)];

        if (!slot->key || slot->key == key)
            return slot;
    }
}

/* Moves the counts of more than @least calls to a table of so many slots. */
static int move(struct fg_repeat_counts *counts, uint32_t nr_slots, uint64_t least, uint64_t *forgotten)
{
    struct fg_repeat_counts made = {.slots = calloc(nr_slots, sizeof(*made.slots)), .nr_slots = nr_slots};

    if (!made.slots)
        return -ENOMEM;
    for (uint32_t i = 0; i < counts->nr_slots; i++) {
        const struct fg_repeat_count *count = &counts->slots[i];

        if (!count->key)
            continue;
        if (count->calls <= least) {
            *forgotten += count->calls;
            continue;
        }
        *slot_of(&made, count->key) = *count;
        made.n++;
    }
    free(counts->slots);
    *counts = made;
    return 0;
}

static int make_room(struct fg_repeat_counts *counts, uint64_t *forgotten)
{
    int error = 0;

    if (counts->nr_slots < MOST_SLOTS)
        return move(counts, counts->nr_slots ? 2 * counts->nr_slots : FIRST_SLOTS, 0, forgotten);
    for (uint64_t least = 1; !error && counts->n > MOST_SLOTS / 4; least *= 2)
        error = move(counts, MOST_SLOTS, least, forgotten);
    return error;
}

int fg_repeat_counts_add(struct fg_repeat_counts *counts, const struct fg_repeat_count *count,
                         uint64_t *forgotten)
{
    struct fg_repeat_count *slot;
    int error = 2 * (counts->n + 1) > counts->nr_slots ? make_room(counts, forgotten) : 0;

    if (error)
        return error;
    slot = slot_of(counts, count->key);
    if (!slot->key) {
        *slot = *count;
        counts->n++;
        return 0;
    }
    slot->calls += count->calls;
    slot->ran_ns += count->ran_ns;
    return 0;
}

int fg_repeat_counts_merge(struct fg_repeat_counts **into, struct fg_repeat_counts *from, uint64_t *forgotten)
{
    struct fg_repeat_counts *smaller = from;
    int error = 0;

    if (!from)
        return 0;
    if (!*into) {
        *into = from;
        return 0;
    }
    if (from->n > (*into)->n) {
        smaller = *into;
        *into = from;
    }
    for (uint32_t i = 0; i < smaller->nr_slots && !error; i++)
        if (smaller->slots[i].key)
            error = fg_repeat_counts_add(*into, &smaller->slots[i], forgotten);
    fg_repeat_counts_free(smaller);
    return error;
}
