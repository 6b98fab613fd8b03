/* See expected_places.h. */
#include "tracedata/answers/expected_places.h"

#include <errno.h>

#include "engine/base/array.h"

#define NOT_REACHED UINT32_MAX

static uint32_t least_of(const struct fg_expectation *expectation, uint32_t line)
{
    return line == FG_ANY_CALLS ? 0 : expectation->lines[line].least;
}

static bool is_among(const uint32_t *lines, size_t n, uint32_t line)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (lines[middle] == line)
            return true;
        if (lines[middle] < line)
            low = middle + 1;
        else
            n = middle;
    }
    return false;
}

/* Adds a span behind the others, or to the last one. */
static int put(struct fg_places *places, uint32_t item, uint32_t low, uint32_t high)
{
    struct fg_place_span *last = places->n ? &places->spans[places->n - 1] : NULL;

    if (last && last->item == item && low <= last->high + 1) {
        if (high > last->high)
            last->high = high;
        return 0;
    }
    if (fg_array_reserve(&places->spans, &places->capacity, places->n + 1) < 0)
        return -ENOMEM;
    places->spans[places->n++] = (struct fg_place_span){item, low, high};
    return 0;
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Adds what becomes of a span by a call that is what its line says. Without an upper bound, counts above the
 * lower one are alike. */
static int put_next(struct fg_places *places, const struct fg_place_span *span,
                    const struct fg_expected_line *line)
{
    if (line->most == FG_ANY_NUMBER)
        return put(places, span->item, lesser(span->low + 1, line->least),
                   lesser(span->high + 1, line->least));
    if (span->low >= line->most)
        return 0;
    return put(places, span->item, span->low + 1, lesser(span->high, line->most - 1) + 1);
}

/* Takes a call from the places @from, and goes on from where a line has enough calls to the next one. The
 * beginning of @reached is a place, too. */
static int advance(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                   const struct fg_places *from, const uint32_t *met, size_t nr_met, uint32_t reached,
                   struct fg_places *to)
{
    size_t i = 0;
    int error = 0;

    to->n = 0;
    while (!error && (i < from->n || reached != NOT_REACHED)) {
        uint32_t item = i < from->n ? lesser(from->spans[i].item, reached) : reached;
        uint32_t number = item < line->nr_items ? line->items[item] : FG_ANY_CALLS;
        bool is_met = item < line->nr_items && number != FG_ANY_CALLS && is_among(met, nr_met, number);

        if (item == reached)
            error = put(to, item, 0, 0);
        for (; !error && i < from->n && from->spans[i].item == item; i++)
            if (is_met)
                error = put_next(to, &from->spans[i], &expectation->lines[number]);
            else if (item < line->nr_items && number == FG_ANY_CALLS)
                error = put(to, item, 0, 0);
        reached = item < line->nr_items && to->n && to->spans[to->n - 1].item == item &&
                          to->spans[to->n - 1].high >= least_of(expectation, number)
                      ? item + 1
                      : NOT_REACHED;
    }
    return error;
}

int fg_places_begin(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                    struct fg_places *places)
{
    return advance(expectation, line, &(struct fg_places){0}, NULL, 0, 0, places);
}

int fg_places_step(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                   const struct fg_places *from, const uint32_t *met, size_t nr_met, struct fg_places *to)
{
    return advance(expectation, line, from, met, nr_met, NOT_REACHED, to);
}

uint32_t fg_places_last_reached(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                                uint32_t item)
{
    while (item < line->nr_items && least_of(expectation, line->items[item]) == 0)
        item++;
    return item;
}
