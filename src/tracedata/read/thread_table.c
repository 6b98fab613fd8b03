/* See thread_table.h. */
#include "tracedata/read/thread_table.h"

#include <errno.h>

void fg_thread_table_free(struct fg_thread_table *table)
{
    fg_hash_clear(&table->numbers);
    table->n = 0;
}

/* One-to-one: no trace has 2^31 lanes. */
static uint64_t hash_of(const struct fg_event *event)
{
    uint64_t group = event->tid ? event->buffer : UINT64_C(1) << 31 | event->lane;

    return fg_hash_uint64(group << 32 | (uint32_t)event->tid);
}

int fg_thread_table_find(struct fg_thread_table *table, struct fg_event *event)
{
    uint64_t hash = hash_of(event), found = fg_hash_find(&table->numbers, hash);

    if (!found) {
        found = table->n + UINT64_C(1);
        if (found > UINT32_MAX || fg_hash_add(&table->numbers, hash, found) < 0)
            return -ENOMEM;
        table->n++;
    }
    event->thread = (uint32_t)(found - 1);
    return 0;
}
