/* See index_sort.h. All orders are made of stable counting sorts, the least significant part first. */
#include "tracedata/index/index_sort.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11u /* of a begin */

/* One sort: what a span is sorted by, below `nr_keys`. */
struct order {
    const struct fg_call_index *index;
    const size_t *depths_before; /* by lane: depths of the lanes before it */
    unsigned shift;              /* of a digit */
    size_t nr_keys;
    size_t (*key)(const struct order *order, const struct fg_span *span);
};

/* Makes of counts, by key, the place at which each key begins. */
static void sum_up(size_t *counts, size_t nr_keys)
{
    size_t sum = 0;

    for (size_t i = 0; i < nr_keys; i++) {
        size_t count = counts[i];

        counts[i] = sum;
        sum += count;
    }
}

static size_t *places_of(const struct order *order)
{
    const struct fg_call_index *index = order->index;
    size_t *places = calloc(order->nr_keys + 1, sizeof(*places));

    for (size_t i = 0; places && i < index->nr_spans; i++)
        places[order->key(order, &index->spans[i])]++;
    if (places)
        sum_up(places, order->nr_keys);
    return places;
}

/* ---- keys */

static size_t key_of_place(const struct order *order, const struct fg_span *span)
{
    return order->depths_before[span->lane] + span->depth;
}

static size_t key_of_class(const struct order *order, const struct fg_span *span)
{
    (void)order;
    return fg_span_class(span);
}

static size_t key_of_lane(const struct order *order, const struct fg_span *span)
{
    (void)order;
    return span->lane;
}

static size_t key_of_function(const struct order *order, const struct fg_span *span)
{
    (void)order;
    return span->func;
}

static size_t key_of_begin(const struct order *order, const struct fg_span *span)
{
    return (span->begin_ns - order->index->first_ns) >> order->shift & ((1u << DIGIT_BITS) - 1);
}

/* ---- sorts of the spans themselves */

/* What is in the room is of no use. */
static int reserve_room(const struct fg_call_index *index)
{
    struct fg_index_room *room = index->room;

    if (index->nr_spans <= room->spans_capacity)
        return 0;
    free(room->spans);
    room->spans = malloc(index->spans_capacity * sizeof(*room->spans));
    room->spans_capacity = room->spans ? index->spans_capacity : 0;
    return room->spans ? 0 : -ENOMEM;
}

static void exchange_room(struct fg_call_index *index)
{
    struct fg_span *spans = index->spans;
    size_t capacity = index->spans_capacity;

    index->spans = index->room->spans;
    index->spans_capacity = index->room->spans_capacity;
    index->room->spans = spans;
    index->room->spans_capacity = capacity;
}

static int sort_spans(struct fg_call_index *index, const struct order *order)
{
    size_t *places = places_of(order);

    if (!places || reserve_room(index) < 0) {
        free(places);
        return -ENOMEM;
    }
    for (size_t i = 0; i < index->nr_spans; i++)
        index->room->spans[places[order->key(order, &index->spans[i])]++] = index->spans[i];
    if (index->nr_spans)
        exchange_room(index);
    free(places);
    return 0;
}

int fg_index_sort_by_place(struct fg_call_index *index)
{
    size_t *depths_before = malloc((index->nr_lanes + 1) * sizeof(*depths_before)), n = 0;
    int error;

    if (!depths_before)
        return -ENOMEM;
    for (size_t i = 0; i < index->nr_lanes; i++) {
        depths_before[i] = n;
        n += index->lanes[i].nr_depths;
    }
    error = sort_spans(index, &(struct order){index, depths_before, 0, n, key_of_place});
    free(depths_before);
    return error;
}

int fg_index_sort_by_class(struct fg_call_index *index)
{
    int error = sort_spans(index, &(struct order){index, NULL, 0, FG_INDEX_NR_CLASSES, key_of_class});

    return error ? error : fg_index_sort_by_place(index);
}

/* ---- sorts of their numbers */

static int sort_numbers(uint32_t *numbers, uint32_t *room, const struct order *order)
{
    const struct fg_call_index *index = order->index;
    size_t *places = places_of(order);

    for (size_t i = 0; places && i < index->nr_spans; i++)
        room[places[order->key(order, &index->spans[numbers[i]])]++] = numbers[i];
    if (places && index->nr_spans)
        memcpy(numbers, room, index->nr_spans * sizeof(*numbers));
    free(places);
    return places ? 0 : -ENOMEM;
}

static int sort_all(const struct fg_call_index *index, uint32_t *numbers, uint32_t *room)
{
    const struct order orders[] = {
        {index, NULL, 0, FG_INDEX_NR_CLASSES, key_of_class},
        {index, NULL, 0, index->nr_lanes, key_of_lane},
        {index, NULL, 0, (size_t)index->nr_functions + 1, key_of_function},
    };
    uint64_t longest = index->last_ns - index->first_ns;
    int error = 0;

    for (unsigned shift = 0; !error && shift < 64 && longest >> shift; shift += DIGIT_BITS)
        error = sort_numbers(numbers, room,
                             &(struct order){index, NULL, shift, (size_t)1 << DIGIT_BITS, key_of_begin});
    for (size_t i = 0; !error && i < sizeof(orders) / sizeof(orders[0]); i++)
        error = sort_numbers(numbers, room, &orders[i]);
    return error;
}

/* The spans that an exception ended, in the order of all. */
static int find_raised(struct fg_call_index *index)
{
    struct fg_span_order *raised = &index->raised;
    size_t n = 0;

    for (size_t i = 0; i < index->nr_spans; i++)
        n += index->spans[i].ended == FG_SPAN_raise;
    raised->numbers = malloc((n + 1) * sizeof(*raised->numbers));
    if (!raised->numbers)
        return -ENOMEM;
    for (size_t i = 0; raised->n < n; i++)
        if (index->spans[index->by_function.numbers[i]].ended == FG_SPAN_raise)
            raised->numbers[raised->n++] = index->by_function.numbers[i];
    return 0;
}

int fg_index_sort_by_function(struct fg_call_index *index)
{
    size_t bytes = (index->nr_spans + 1) * sizeof(uint32_t);
    uint32_t *room = malloc(bytes), *numbers = malloc(bytes);
    int error = -ENOMEM;

    index->by_function = (struct fg_span_order){numbers, index->nr_spans};
    for (size_t i = 0; numbers && i < index->nr_spans; i++)
        numbers[i] = (uint32_t)i;
    if (numbers && room)
        error = sort_all(index, numbers, room);
    free(room);
    return error ? error : find_raised(index);
}
