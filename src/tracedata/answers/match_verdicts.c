/* See match_verdicts.h. */
#include "tracedata/answers/match_verdicts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

#define HEADS 4096u

static bool is_equal(const struct fg_match_verdicts *verdicts, uint32_t number,
                     const struct fg_match_candidate *candidates, size_t n)
{
    const struct fg_match_verdict *verdict = &verdicts->places[number];
    const struct fg_match_candidate *known = verdicts->candidates + verdict->first;

    if (verdict->n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (known[i].line != candidates[i].line || known[i].fit != candidates[i].fit)
            return false;
    return true;
}

static uint32_t hash_of(const struct fg_match_candidate *candidates, size_t n)
{
    uint32_t hash = 0;

    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (candidates[i].line * 4 + candidates[i].fit)) * 0x9e3779b1u;
    return (hash ^ hash >> 15) % HEADS;
}

static int add(struct fg_match_verdicts *verdicts, const struct fg_match_candidate *candidates, size_t n,
               uint32_t hash)
{
    if (verdicts->n >= UINT32_MAX ||
        fg_array_reserve(&verdicts->places, &verdicts->capacity, verdicts->n + 1) < 0 ||
        fg_array_reserve(&verdicts->candidates, &verdicts->candidate_capacity,
                         verdicts->nr_candidates + n + 1) < 0)
        return -ENOMEM;
    if (n)
        memcpy(verdicts->candidates + verdicts->nr_candidates, candidates, n * sizeof(*candidates));
    verdicts->places[verdicts->n] =
        (struct fg_match_verdict){.first = verdicts->nr_candidates, .n = n, .next = verdicts->heads[hash]};
    verdicts->nr_candidates += n;
    verdicts->heads[hash] = (uint32_t)++verdicts->n;
    return 0;
}

int fg_match_verdict_find(struct fg_match_verdicts *verdicts, const struct fg_match_candidate *candidates,
                          size_t n, uint32_t *number)
{
    uint32_t hash = hash_of(candidates, n), found;

    if (!verdicts->heads)
        verdicts->heads = calloc(HEADS, sizeof(*verdicts->heads));
    if (!verdicts->heads)
        return -ENOMEM;
    found = verdicts->heads[hash];
    while (found && !is_equal(verdicts, found - 1, candidates, n))
        found = verdicts->places[found - 1].next;
    *number = found ? found - 1 : (uint32_t)verdicts->n;
    return found ? 0 : add(verdicts, candidates, n, hash);
}

void fg_match_verdicts_free(struct fg_match_verdicts *verdicts)
{
    free(verdicts->places);
    free(verdicts->candidates);
    free(verdicts->heads);
}
