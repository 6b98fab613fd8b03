/* The places in a sequence of lines at which the calls so far may be: all of them at once.
 *
 * A place is an item, and how many calls were taken for it. Those of one item that follow each other are one
 * span, so that a wide count costs no more than a narrow one:
 *
 *     lines        a x0..1000, a x0..1000, b        calls: a a a
 *     places       (item 0, 3)  (item 1, 0 to 3)  (item 2, 0) */
#ifndef FG_EXPECTED_PLACES_H
#define FG_EXPECTED_PLACES_H

#include "tracedata/answers/expected_calls.h"

struct fg_place_span {
    uint32_t item;      /* nr_items: the end */
    uint32_t low, high; /* so many calls were taken for it */
};

struct fg_places {
    struct fg_place_span *spans; /* in ascending order */
    size_t n, capacity;
};

/* The places before the first call. Return: 0 or -ENOMEM. */
int fg_places_begin(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                    struct fg_places *places);
/* The places after a call that is what the lines @met say, which ascend. @to: another one than @from; empty:
 * the call is in no place. Return: 0 or -ENOMEM. */
int fg_places_step(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                   const struct fg_places *from, const uint32_t *met, size_t nr_met, struct fg_places *to);

/* Whether no further call is needed. */
static inline bool fg_places_has_end(const struct fg_places *places, const struct fg_expected_line *line)
{
    return places->n && places->spans[places->n - 1].item == line->nr_items;
}

/* The line of which a further call would be taken at the places of the span, or FG_ANY_CALLS: of none, or of
 * `...`. */
static inline uint32_t fg_place_line(const struct fg_expectation *expectation,
                                     const struct fg_expected_line *line, const struct fg_place_span *span)
{
    uint32_t next = span->item < line->nr_items ? line->items[span->item] : FG_ANY_CALLS;

    return next != FG_ANY_CALLS && span->low < expectation->lines[next].most ? next : FG_ANY_CALLS;
}

/* The last item that may be reached from the beginning of @item without a further call. */
uint32_t fg_places_last_reached(const struct fg_expectation *expectation, const struct fg_expected_line *line,
                                uint32_t item);

#endif
