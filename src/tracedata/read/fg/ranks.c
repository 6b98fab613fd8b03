/* See ranks.h. */
#include "tracedata/read/fg/ranks.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/spool/record_check.h"

int fg_ranks_add(struct fg_ranks *ranks, const struct fg_time_scale *scale, uint32_t lane,
                 const void *records, size_t bytes)
{
    const uint64_t *at = records, *end = at + bytes / FG_RECORD_WORD_BYTES;

    while (end - at >= 2) {
        const struct fg_record *record = (const struct fg_record *)at;

        if (!fg_record_is_sound(record, (size_t)(end - at)))
            break;
        at += fg_record_words(record->info);
        if (fg_record_kind(record->info) == FG_RECORD_LOST)
            continue;
        if (fg_array_reserve(&ranks->events, &ranks->capacity, ranks->n + 1) < 0)
            return -ENOMEM;
        ranks->events[ranks->n++] = (struct fg_rank){fg_time_scale_ns(scale, record->time), lane};
    }
    return 0;
}

static int compare(struct fg_rank one, struct fg_rank other)
{
    if (one.time_ns != other.time_ns)
        return one.time_ns < other.time_ns ? -1 : 1;
    return (one.lane > other.lane) - (one.lane < other.lane);
}

static int by_time(const void *a, const void *b)
{
    return compare(*(const struct fg_rank *)a, *(const struct fg_rank *)b);
}

int fg_ranks_sort(struct fg_ranks *ranks)
{
    if (ranks->n)
        qsort(ranks->events, ranks->n, sizeof(*ranks->events), by_time);
    ranks->taken = calloc(ranks->n / 64 + 1, sizeof(*ranks->taken));
    return ranks->taken ? 0 : -ENOMEM;
}

/* The first place that is not before the event. */
static size_t first_at(const struct fg_ranks *ranks, struct fg_rank event)
{
    size_t low = 0, high = ranks->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (compare(ranks->events[middle], event) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t fg_ranks_first(const struct fg_ranks *ranks, uint64_t time_ns)
{
    return first_at(ranks, (struct fg_rank){time_ns, 0}) + 1;
}

uint64_t fg_ranks_last(const struct fg_ranks *ranks, uint64_t time_ns)
{
    return first_at(ranks, (struct fg_rank){time_ns, UINT64_MAX});
}

static bool is_at(const struct fg_ranks *ranks, size_t at, struct fg_rank event)
{
    return at < ranks->n && compare(ranks->events[at], event) == 0;
}

static bool is_taken(const struct fg_ranks *ranks, size_t at)
{
    return ranks->taken[at / 64] >> at % 64 & 1;
}

uint64_t fg_ranks_take(struct fg_ranks *ranks, struct fg_rank event)
{
    size_t at = is_at(ranks, ranks->last, event) ? ranks->last : first_at(ranks, event);

    while (is_at(ranks, at, event) && is_taken(ranks, at))
        at++;
    if (at < ranks->n)
        ranks->taken[at / 64] |= 1ull << at % 64;
    ranks->last = at;
    return at + 1;
}

void fg_ranks_free(struct fg_ranks *ranks)
{
    free(ranks->events);
    free(ranks->taken);
    *ranks = (struct fg_ranks){0};
}
