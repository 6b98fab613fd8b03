/* See index_query.h. */
#include "tracedata/index/index_query.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"

/* ---- rows */

void fg_span_rows_free(struct fg_span_rows *rows)
{
#define X(name, type, format, text) free(rows->name);
    FG_SPAN_COLUMNS(X)
#undef X
    *rows = (struct fg_span_rows){0};
}

int fg_span_rows_reserve(struct fg_span_rows *rows)
{
    size_t capacity = rows->capacity ? rows->capacity * 2 : 64;
    void *grown;

    if (rows->n < rows->capacity)
        return 0;
#define X(name, type, format, text)                                                                          \
    grown = realloc(rows->name, capacity * sizeof(type));                                                    \
    if (!grown)                                                                                              \
        return -ENOMEM;                                                                                      \
    rows->name = grown;
    FG_SPAN_COLUMNS(X)
#undef X
    rows->capacity = capacity;
    return 0;
}

int fg_span_rows_add(struct fg_span_rows *rows, const struct fg_span *span)
{
    size_t i = rows->n;

    if (fg_span_rows_reserve(rows) < 0)
        return -ENOMEM;
    rows->begin_ns[i] = span->begin_ns;
    rows->end_ns[i] = span->end_ns;
    rows->busy_ns[i] = span->end_ns - span->begin_ns;
    rows->count[i] = 1;
    rows->function[i] = span->func;
    rows->depth[i] = span->depth;
    rows->lane[i] = span->lane;
    rows->ended[i] = span->ended;
    rows->resumed[i] = span->is_resumed;
    rows->n++;
    return 0;
}

static int add_cell(struct fg_span_rows *rows, const struct fg_span_cell *cell, unsigned level)
{
    unsigned bits = 2 * level;
    size_t i = rows->n;

    if (fg_span_rows_reserve(rows) < 0)
        return -ENOMEM;
    rows->begin_ns[i] = bits < 64 ? cell->slot << bits : 0;
    rows->end_ns[i] = bits < 64 ? rows->begin_ns[i] + (UINT64_C(1) << bits) : UINT64_MAX;
    rows->busy_ns[i] = cell->busy_ns;
    rows->count[i] = cell->count;
    rows->function[i] = cell->func;
    rows->depth[i] = cell->depth;
    rows->lane[i] = cell->lane;
    rows->ended[i] = FG_NR_SPAN_ENDS;
    rows->resumed[i] = false;
    rows->n++;
    return 0;
}

/* ---- places in the sorted arrays: the first of which `is_before` is false */

struct span_place {
    uint32_t lane, depth;
    unsigned class;
    uint64_t begin_ns;
};

static bool span_is_before(const struct fg_span *span, const struct span_place *place)
{
    unsigned class = fg_span_class(span);

    if (span->lane != place->lane)
        return span->lane < place->lane;
    if (span->depth != place->depth)
        return span->depth < place->depth;
    if (class != place->class)
        return class < place->class;
    return span->begin_ns < place->begin_ns;
}

static size_t find_span(const struct fg_call_index *index, const struct span_place *place)
{
    size_t low = 0, high = index->nr_spans;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (span_is_before(&index->spans[middle], place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_of(const struct fg_span *span, uint32_t lane, uint32_t depth, unsigned class)
{
    return span->lane == lane && span->depth == depth && fg_span_class(span) == class;
}

static bool cell_is_before(const struct fg_span_cell *cell, uint32_t lane, uint32_t depth, uint64_t slot)
{
    if (cell->lane != lane)
        return cell->lane < lane;
    if (cell->depth != depth)
        return cell->depth < depth;
    return cell->slot < slot;
}

static size_t find_cell(const struct fg_cell_level *level, uint32_t lane, uint32_t depth, uint64_t slot)
{
    size_t low = 0, high = level->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cell_is_before(&level->cells[middle], lane, depth, slot))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- pictures */

/* The level for slots of at most this many ns, among those that there are. */
static unsigned level_for(const struct fg_call_index *index, uint64_t ns)
{
    unsigned level = fg_duration_class(ns) / FG_INDEX_STEP * FG_INDEX_STEP;

    if (level < index->base)
        return index->base;
    return level < index->top ? level : index->top;
}

/* A span of the class can begin so long before what it is seen in. */
static uint64_t begin_before(uint64_t ns, unsigned class)
{
    uint64_t longest = class < FG_INDEX_NR_CLASSES - 1 ? UINT64_C(1) << 2 * (class + 1) : UINT64_MAX;

    return ns > longest ? ns - longest : 0;
}

static bool is_seen(const struct fg_span *span, const struct fg_picture *picture)
{
    return span->end_ns > picture->begin_ns ||
           (span->begin_ns == span->end_ns && span->begin_ns == picture->begin_ns);
}

static int add_class(const struct fg_call_index *index, const struct fg_picture *picture, uint32_t depth,
                     unsigned class, struct fg_span_rows *rows)
{
    size_t i = find_span(
        index, &(struct span_place){picture->lane, depth, class, begin_before(picture->begin_ns, class)});
    int error = 0;

    for (; !error && i < index->nr_spans; i++) {
        const struct fg_span *span = &index->spans[i];

        if (!is_of(span, picture->lane, depth, class) || span->begin_ns >= picture->end_ns)
            break;
        if (is_seen(span, picture))
            error = fg_span_rows_add(rows, span);
    }
    return error;
}

static int add_cells(const struct fg_call_index *index, const struct fg_picture *picture, uint32_t depth,
                     unsigned level, struct fg_span_rows *rows)
{
    const struct fg_cell_level *cells = &index->levels[level / FG_INDEX_STEP];
    unsigned bits = 2 * level;
    uint64_t first = bits < 64 ? picture->begin_ns >> bits : 0;
    uint64_t last = bits < 64 ? (picture->end_ns - 1) >> bits : 0;
    size_t i = find_cell(cells, picture->lane, depth, first);
    int error = 0;

    for (; !error && i < cells->n; i++) {
        const struct fg_span_cell *cell = &cells->cells[i];

        if (cell->lane != picture->lane || cell->depth != depth || cell->slot > last)
            break;
        error = add_cell(rows, cell, level);
    }
    return error;
}

/* Spans of the classes from @level on, and cells of this level, if @has_cells. */
static int add_level(const struct fg_call_index *index, const struct fg_picture *picture, unsigned level,
                     bool has_cells, struct fg_span_rows *rows)
{
    uint32_t nr_depths = index->lanes[picture->lane].nr_depths;
    int error = 0;

    for (uint32_t depth = picture->first_depth; !error && depth < nr_depths && depth <= picture->last_depth;
         depth++) {
        for (unsigned class = level; !error && class < FG_INDEX_NR_CLASSES; class ++)
            error = add_class(index, picture, depth, class, rows);
        if (!error && has_cells)
            error = add_cells(index, picture, depth, level, rows);
    }
    return error;
}

int fg_index_picture(const struct fg_call_index *index, const struct fg_picture *picture,
                     struct fg_span_rows *rows)
{
    unsigned level = level_for(index, (picture->end_ns - picture->begin_ns) / picture->pixels);

    return add_level(index, picture, level, true, rows);
}

int fg_index_long_spans(const struct fg_call_index *index, const struct fg_picture *picture,
                        struct fg_span_rows *rows)
{
    return add_level(index, picture, index->base, false, rows);
}

uint64_t fg_index_count_short(const struct fg_call_index *index, uint32_t lane, uint32_t depth,
                              uint64_t begin_ns, uint64_t end_ns, uint64_t most)
{
    const struct fg_cell_level *cells = &index->levels[index->base / FG_INDEX_STEP];
    unsigned bits = 2 * index->base;
    size_t i = find_cell(cells, lane, depth, bits < 64 ? begin_ns >> bits : 0);
    uint64_t n = 0;

    for (; i < cells->n && n <= most; i++) {
        const struct fg_span_cell *cell = &cells->cells[i];

        if (cell->lane != lane || cell->depth != depth || (bits < 64 && cell->slot > end_ns >> bits))
            break;
        n += cell->count;
    }
    return n;
}

/* ---- the call at a time */

uint32_t fg_index_span_at(const struct fg_call_index *index, uint32_t lane, uint32_t depth, uint64_t time_ns)
{
    for (unsigned class = index->base; class < FG_INDEX_NR_CLASSES; class ++) {
        struct span_place place = {lane, depth, class, time_ns};
        size_t i = find_span(index, &place);
        const struct fg_span *span;

        /* One that begins now is at the place, any other that is in progress before it. */
        while (i < index->nr_spans && index->spans[i].begin_ns == time_ns &&
               is_of(&index->spans[i], lane, depth, class)) {
            if (index->spans[i].end_ns > time_ns)
                return (uint32_t)i;
            i++;
        }
        if (i == 0)
            continue;
        span = &index->spans[i - 1];
        if (is_of(span, lane, depth, class) && (span->end_ns > time_ns || span->begin_ns == time_ns))
            return (uint32_t)(i - 1);
    }
    return FG_NO_SPAN;
}

/* ---- spans of a function */

struct function_place {
    uint32_t func, lane;
    unsigned class;
    uint64_t begin_ns;
};

static bool function_is_before(const struct fg_span *span, const struct function_place *place)
{
    unsigned class = fg_span_class(span);

    if (span->func != place->func)
        return span->func < place->func;
    if (span->lane != place->lane)
        return span->lane < place->lane;
    if (class != place->class)
        return class < place->class;
    return span->begin_ns < place->begin_ns;
}

static size_t find_function(const struct fg_call_index *index, const struct fg_span_order *order,
                            const struct function_place *place)
{
    size_t low = 0, high = order->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (function_is_before(&index->spans[order->numbers[middle]], place))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The span at a place of an order, if it is of these; or NULL. */
static const struct fg_span *span_of(const struct fg_call_index *index, const struct fg_span_order *order,
                                     size_t at, uint32_t func, uint32_t lane, unsigned class)
{
    const struct fg_span *span;

    if (at >= order->n)
        return NULL;
    span = &index->spans[order->numbers[at]];
    return span->func == func && span->lane == lane && fg_span_class(span) == class ? span : NULL;
}

/* What is looked for in each lane and class: the nearest one after a time, or before it. */
struct nearest {
    const struct fg_span_order *order;
    uint32_t func;
    bool is_next;
    uint64_t time_ns;
    const struct fg_span *found;
};

static void look_in(const struct fg_call_index *index, struct nearest *nearest, uint32_t lane, unsigned class)
{
    struct function_place place = {nearest->func, lane, class, nearest->time_ns + nearest->is_next};
    size_t at = find_function(index, nearest->order, &place);
    const struct fg_span *span;

    if (!nearest->is_next && at-- == 0)
        return;
    span = span_of(index, nearest->order, at, nearest->func, lane, class);
    if (span && (!nearest->found || (nearest->is_next ? span->begin_ns < nearest->found->begin_ns
                                                      : span->begin_ns > nearest->found->begin_ns)))
        nearest->found = span;
}

static uint32_t find_nearest(const struct fg_call_index *index, struct nearest nearest, uint32_t lane)
{
    uint32_t first = lane == UINT32_MAX ? 0 : lane;
    uint32_t end = lane == UINT32_MAX ? (uint32_t)index->nr_lanes : lane + 1;

    for (uint32_t i = first; i < end; i++)
        for (unsigned class = index->base; class < FG_INDEX_NR_CLASSES; class ++)
            look_in(index, &nearest, i, class);
    return nearest.found ? (uint32_t)(nearest.found - index->spans) : FG_NO_SPAN;
}

static const struct fg_span_order *order_of(const struct fg_call_index *index, bool raised)
{
    return raised ? &index->raised : &index->by_function;
}

uint32_t fg_index_next(const struct fg_call_index *index, uint32_t func, uint32_t lane, uint64_t after_ns,
                       bool raised)
{
    if (after_ns == UINT64_MAX)
        return FG_NO_SPAN;
    return find_nearest(index, (struct nearest){order_of(index, raised), func, true, after_ns, NULL}, lane);
}

uint32_t fg_index_previous(const struct fg_call_index *index, uint32_t func, uint32_t lane,
                           uint64_t before_ns, bool raised)
{
    return find_nearest(index, (struct nearest){order_of(index, raised), func, false, before_ns, NULL}, lane);
}

uint64_t fg_index_count_before(const struct fg_call_index *index, uint32_t func, uint64_t begin_ns)
{
    uint64_t n = 0;

    for (uint32_t lane = 0; lane < index->nr_lanes; lane++)
        for (unsigned class = index->base; class < FG_INDEX_NR_CLASSES; class ++) {
            struct function_place place = {func, lane, class, 0};
            size_t first = find_function(index, &index->by_function, &place);

            place.begin_ns = begin_ns;
            n += find_function(index, &index->by_function, &place) - first;
        }
    return n;
}

/* ---- blocks */

/* The first block of which the lane is later, or the same and the end not before a time. */
static size_t find_block(const struct fg_call_index *index, uint32_t lane, uint64_t time_ns)
{
    size_t low = 0, high = index->nr_blocks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct fg_index_block *block = &index->blocks[middle];

        if (block->lane != lane ? block->lane < lane : block->last_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t fg_index_block_at(const struct fg_call_index *index, uint32_t lane, uint64_t time_ns)
{
    size_t found = find_block(index, lane, time_ns);

    return (uint32_t)(found < index->nr_blocks && index->blocks[found].lane == lane ? found
                                                                                    : index->nr_blocks);
}

uint32_t fg_index_block_from(const struct fg_call_index *index, uint32_t lane)
{
    return (uint32_t)find_block(index, lane, 0);
}

size_t fg_index_find_short(const struct fg_call_index *index, uint32_t func, uint32_t block)
{
    size_t low = 0, high = index->nr_shorts;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct fg_index_short *count = &index->shorts[middle];

        if (count->func != func ? count->func < func : count->block < block)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- the longest spans */

/* A heap of the longest spans so far, the shortest on top; of equally long ones the earlier number counts as
 * longer. */
struct heap {
    const struct fg_span *spans;
    uint32_t *numbers;
    size_t n, capacity;
};

static bool is_shorter(const struct heap *heap, uint32_t a, uint32_t b)
{
    uint64_t one_ns = heap->spans[a].end_ns - heap->spans[a].begin_ns;
    uint64_t other_ns = heap->spans[b].end_ns - heap->spans[b].begin_ns;

    return one_ns != other_ns ? one_ns < other_ns : a > b;
}

static void sift_down(struct heap *heap, size_t at)
{
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        uint32_t number = heap->numbers[at];

        for (size_t child = left; child < left + 2 && child < heap->n; child++)
            if (is_shorter(heap, heap->numbers[child], heap->numbers[least]))
                least = child;
        if (least == at)
            return;
        heap->numbers[at] = heap->numbers[least];
        heap->numbers[least] = number;
        at = least;
    }
}

static void sift_up(struct heap *heap, size_t at)
{
    while (at && is_shorter(heap, heap->numbers[at], heap->numbers[(at - 1) / 2])) {
        uint32_t number = heap->numbers[at];

        heap->numbers[at] = heap->numbers[(at - 1) / 2];
        at = (at - 1) / 2;
        heap->numbers[at] = number;
    }
}

static int offer(struct heap *heap, size_t most, uint32_t number)
{
    if (heap->n == most) {
        if (is_shorter(heap, heap->numbers[0], number)) {
            heap->numbers[0] = number;
            sift_down(heap, 0);
        }
        return 0;
    }
    if (fg_array_reserve(&heap->numbers, &heap->capacity, heap->n + 1) < 0)
        return -ENOMEM;
    heap->numbers[heap->n] = number;
    sift_up(heap, heap->n++);
    return 0;
}

static int offer_class(const struct fg_call_index *index, struct heap *heap,
                       const struct function_place *place, uint64_t least_ns, size_t most)
{
    const struct fg_span_order *order = &index->by_function;
    size_t at = find_function(index, order, place);
    const struct fg_span *span;
    int error = 0;

    while (!error && (span = span_of(index, order, at, place->func, place->lane, place->class)) != NULL) {
        if (span->end_ns - span->begin_ns >= least_ns)
            error = offer(heap, most, order->numbers[at]);
        at++;
    }
    return error;
}

/* Adds the heap's spans, the longest first. */
static int drain(struct heap *heap, const struct fg_call_index *index, struct fg_span_rows *rows)
{
    size_t n = heap->n;
    int error = 0;

    while (heap->n) {
        uint32_t shortest = heap->numbers[0];

        heap->numbers[0] = heap->numbers[--heap->n];
        heap->numbers[heap->n] = shortest;
        sift_down(heap, 0);
    }
    for (size_t i = 0; i < n && !error; i++)
        error = fg_span_rows_add(rows, &index->spans[heap->numbers[i]]);
    return error;
}

/* From the longest class down: as soon as there are enough, shorter ones need not be looked at. */
int fg_index_longest(const struct fg_call_index *index, uint32_t func, uint64_t least_ns, size_t most,
                     struct fg_span_rows *rows)
{
    struct heap heap = {.spans = index->spans};
    unsigned last = fg_duration_class(least_ns) > index->base ? fg_duration_class(least_ns) : index->base;
    int error = 0;

    for (unsigned class = FG_INDEX_NR_CLASSES; most && !error && heap.n<most &&class --> last;)
        for (uint32_t lane = 0; lane < index->nr_lanes && !error; lane++)
            error = offer_class(index, &heap, &(struct function_place){func, lane, class, 0}, least_ns, most);
    if (!error)
        error = drain(&heap, index, rows);
    free(heap.numbers);
    return error;
}

/* ---- marks */

static size_t find_mark(const struct fg_call_index *index, uint32_t lane, uint32_t kind, uint64_t time_ns)
{
    size_t low = 0, high = index->nr_marks;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct fg_index_mark *mark = &index->marks[middle];
        bool is_before = mark->lane != lane   ? mark->lane < lane
                         : mark->kind != kind ? mark->kind < kind
                                              : mark->time_ns < time_ns;

        if (is_before)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t fg_index_marks(const struct fg_call_index *index, uint32_t lane, uint32_t kind, uint64_t begin_ns,
                      uint64_t end_ns, size_t *first)
{
    *first = find_mark(index, lane, kind, begin_ns);
    return find_mark(index, lane, kind, end_ns);
}
