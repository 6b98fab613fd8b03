/* See ranks.h. */
#include "tracedata/read/ranks.h"

#include "engine/core/array.h"
#include "tracedata/spool/record_check.h"
#include <errno.h>
#include <stdlib.h>

int fg_ranks_add(struct fg_ranks *ranks, const struct fg_time_scale *scale, const void *records, size_t bytes)
{
    const uint64_t *at = records, *end = at + bytes / FG_RECORD_WORD_BYTES;

    while (end - at >= 2) {
        const struct fg_record *record = (const struct fg_record *)at;

        if (!fg_record_is_sound(record, (size_t)(end - at)))
            break;
        at += fg_record_words(record->info);
        if (fg_record_kind(record->info) == FG_RECORD_LOST)
            continue;
        if (fg_array_reserve(&ranks->times, &ranks->capacity, ranks->n + 1) < 0)
            return -ENOMEM;
        ranks->times[ranks->n++] = fg_time_scale_ns(scale, record->time);
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

int fg_ranks_sort(struct fg_ranks *ranks)
{
    if (ranks->n)
        qsort(ranks->times, ranks->n, sizeof(*ranks->times), by_value);
    ranks->taken = calloc(ranks->n / 64 + 1, sizeof(*ranks->taken));
    return ranks->taken ? 0 : -ENOMEM;
}

/* The first place with that time or a later one. */
static size_t first_at(const struct fg_ranks *ranks, uint64_t time_ns)
{
    size_t low = 0, high = ranks->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranks->times[middle] < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t fg_ranks_first(const struct fg_ranks *ranks, uint64_t time_ns)
{
    return first_at(ranks, time_ns) + 1;
}

uint64_t fg_ranks_last(const struct fg_ranks *ranks, uint64_t time_ns)
{
    return first_at(ranks, time_ns + 1);
}

static bool is_taken(const struct fg_ranks *ranks, size_t at)
{
    return ranks->taken[at / 64] >> at % 64 & 1;
}

uint64_t fg_ranks_take(struct fg_ranks *ranks, uint64_t time_ns)
{
    size_t at = first_at(ranks, time_ns);

    if (at < ranks->last && ranks->last < ranks->n && ranks->times[ranks->last] == time_ns)
        at = ranks->last;
    while (at < ranks->n && is_taken(ranks, at) && ranks->times[at] == time_ns)
        at++;
    if (at < ranks->n)
        ranks->taken[at / 64] |= 1ull << at % 64;
    ranks->last = at;
    return at + 1;
}

void fg_ranks_free(struct fg_ranks *ranks)
{
    free(ranks->times);
    free(ranks->taken);
    *ranks = (struct fg_ranks){0};
}
