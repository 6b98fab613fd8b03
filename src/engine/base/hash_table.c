/* See hash_table.h. */
#include "engine/base/hash_table.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_SLOTS 16u

static void put(struct fg_hash_table *table, uint64_t hash, uint64_t value)
{
    size_t at = (size_t)hash & fg_hash_mask(table);

    while (table->slots[at].value)
        at = (at + 1) & fg_hash_mask(table);
    table->slots[at] = (struct fg_hash_slot){hash, value};
}

int fg_hash_grow(struct fg_hash_table *table)
{
    struct fg_hash_table grown = {.nr_slots = table->nr_slots ? table->nr_slots * 2 : FIRST_SLOTS};

    grown.slots = (struct fg_hash_slot *)calloc(grown.nr_slots, sizeof(*grown.slots));
    if (!grown.slots)
        return -ENOMEM;
    for (size_t i = 0; i < table->nr_slots; i++) {
        if (table->slots[i].value)
            put(&grown, table->slots[i].hash, table->slots[i].value);
    }
    grown.n = table->n;
    free(table->slots);
    *table = grown;
    return 0;
}

/* How many slots a value lies after the slot that its hash selects. */
static size_t distance(const struct fg_hash_table *table, size_t at)
{
    return (at - (size_t)table->slots[at].hash) & fg_hash_mask(table);
}

void fg_hash_close_gap(struct fg_hash_table *table, size_t gap)
{
    size_t mask = fg_hash_mask(table);

    for (size_t at = (gap + 1) & mask; table->slots[at].value; at = (at + 1) & mask) {
        if (distance(table, at) >= ((at - gap) & mask)) {
            table->slots[gap] = table->slots[at];
            gap = at;
        }
    }
    table->slots[gap].value = 0;
}

void fg_hash_clear(struct fg_hash_table *table)
{
    free(table->slots);
    *table = (struct fg_hash_table){.n = 0};
}
