/* See index_cells.h. */
#include "tracedata/index/index_cells.h"

#include <errno.h>
#include <stdlib.h>

static uint64_t slot_of(uint64_t ns, unsigned level)
{
    return 2 * level < 64 ? ns >> 2 * level : 0;
}

static struct fg_span_cell cell_of(const struct fg_span *span, unsigned level)
{
    uint64_t ns = span->end_ns - span->begin_ns;

    return (struct fg_span_cell){.slot = slot_of(span->begin_ns, level),
                                 .busy_ns = ns,
                                 .weight_ns = ns,
                                 .func = span->func,
                                 .count = 1,
                                 .lane = span->lane,
                                 .depth = span->depth};
}

static int compare_cells(const struct fg_span_cell *one, const struct fg_span_cell *other)
{
    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    if (one->depth != other->depth)
        return one->depth < other->depth ? -1 : 1;
    return (one->slot > other->slot) - (one->slot < other->slot);
}

static bool is_same_place(const struct fg_span_cell *one, const struct fg_span_cell *other)
{
    return ((one->slot ^ other->slot) | (one->lane ^ other->lane) | (one->depth ^ other->depth)) == 0;
}

/* Adds @other to a cell of the same place. The dominant function is found by majority vote (Boyer and Moore),
 * which also holds for sums: one that has more than half of all time is ahead of all others together. */
static void cell_add(struct fg_span_cell *cell, const struct fg_span_cell *other)
{
    uint64_t weight_ns = other->weight_ns;

    cell->busy_ns += other->busy_ns;
    cell->count = cell->count > UINT32_MAX - other->count ? UINT32_MAX : cell->count + other->count;
    if (cell->func == other->func) {
        cell->weight_ns += weight_ns;
    } else if (cell->weight_ns >= weight_ns) {
        cell->weight_ns -= weight_ns;
    } else {
        cell->weight_ns = weight_ns - cell->weight_ns;
        cell->func = other->func;
    }
}

/* Adds a cell after those before it. */
static void append(struct fg_cell_level *level, const struct fg_span_cell *cell)
{
    if (level->n && is_same_place(&level->cells[level->n - 1], cell))
        cell_add(&level->cells[level->n - 1], cell);
    else
        level->cells[level->n++] = *cell;
}

/* Of what cells are made: finer cells, and spans. */
struct sources {
    const struct fg_call_index *index;
    const struct fg_cell_level *finer;
    unsigned coarser; /* by so many levels: the cells that are made */
    unsigned from,
        level; /* the spans: of classes from `from` to before `level`, which is that of the cells */
};

/* The number of the next span from @i on that is among the sources; nr_spans: there is none. */
static size_t next_span(const struct sources *sources, size_t i)
{
    while (i < sources->index->nr_spans) {
        unsigned class = fg_span_class(&sources->index->spans[i]);

        if (class >= sources->from && class < sources->level)
            break;
        i++;
    }
    return i;
}

static struct fg_span_cell finer_cell(const struct sources *sources, size_t i)
{
    struct fg_span_cell cell = sources->finer->cells[i];

    cell.slot = slot_of(cell.slot, sources->coarser);
    return cell;
}

static struct fg_span_cell span_cell(const struct sources *sources, size_t i)
{
    return cell_of(&sources->index->spans[i], sources->level);
}

/* How many cells there are at most: those of both sources may be of one place. Adds the number of spans. */
static size_t count_cells(const struct sources *sources, size_t *nr_spans)
{
    struct fg_span_cell cell, last = {.lane = UINT32_MAX};
    size_t n = 0, i;

    for (i = 0; i < sources->finer->n; i++, last = cell) {
        cell = finer_cell(sources, i);
        n += !is_same_place(&cell, &last);
    }
    last.lane = UINT32_MAX;
    for (i = next_span(sources, 0); i < sources->index->nr_spans; i = next_span(sources, i + 1)) {
        cell = span_cell(sources, i);
        n += !is_same_place(&cell, &last);
        last = cell;
        ++*nr_spans;
    }
    return n;
}

/* The spans of cells before the next finer one. Return: the number of the one after them. */
static size_t add_spans(const struct sources *sources, size_t i, const struct fg_span_cell *next,
                        struct fg_cell_level *made)
{
    for (; i < sources->index->nr_spans; i = next_span(sources, i + 1)) {
        struct fg_span_cell cell = span_cell(sources, i);

        if (next && compare_cells(&cell, next) >= 0)
            break;
        append(made, &cell);
    }
    return i;
}

/* @made has room for all of them. */
static void make_cells(const struct sources *sources, struct fg_cell_level *made)
{
    size_t span = next_span(sources, 0);

    for (size_t i = 0; i < sources->finer->n; i++) {
        struct fg_span_cell cell = finer_cell(sources, i);

        span = add_spans(sources, span, &cell, made);
        append(made, &cell);
    }
    add_spans(sources, span, NULL, made);
}

static void drop_spans(struct fg_call_index *index, unsigned level)
{
    size_t n = 0;

    for (size_t i = 0; i < index->nr_spans; i++)
        if (fg_span_class(&index->spans[i]) >= level)
            index->spans[n++] = index->spans[i];
    index->nr_spans = n;
}

static struct sources sources_of_fold(const struct fg_call_index *index, unsigned level)
{
    return (struct sources){.index = index,
                            .finer = &index->levels[index->base / FG_INDEX_STEP],
                            .coarser = level - index->base,
                            .level = level};
}

void fg_cells_count_fold(const struct fg_call_index *index, unsigned level, size_t *nr_spans,
                         size_t *nr_cells)
{
    struct sources sources = sources_of_fold(index, level);
    size_t folded = 0;

    *nr_cells = count_cells(&sources, &folded);
    *nr_spans = index->nr_spans - folded;
}

/* What is in the room is of no use. A half more than is needed now, as the next fold makes a little more. */
static int reserve_room(struct fg_index_room *room, size_t n)
{
    if (room->cells && n <= room->cells_capacity)
        return 0;
    free(room->cells);
    room->cells_capacity = n + n / 2 + 1;
    room->cells = malloc(room->cells_capacity * sizeof(*room->cells));
    return room->cells ? 0 : -ENOMEM;
}

int fg_cells_fold(struct fg_call_index *index, unsigned level, size_t most_cells)
{
    struct sources sources = sources_of_fold(index, level);
    struct fg_cell_level *base = &index->levels[index->base / FG_INDEX_STEP], made = {0};
    struct fg_index_room *room = index->room;
    size_t capacity = room->base_capacity;

    if (reserve_room(room, most_cells) < 0)
        return -ENOMEM;
    made.cells = room->cells;
    make_cells(&sources, &made);
    drop_spans(index, level);
    room->cells = base->cells;
    room->base_capacity = room->cells_capacity;
    room->cells_capacity = capacity;
    *base = (struct fg_cell_level){0};
    index->base = level;
    index->levels[level / FG_INDEX_STEP] = made;
    return 0;
}

int fg_cells_make_levels(struct fg_call_index *index, size_t most, unsigned last)
{
    size_t n = index->levels[index->base / FG_INDEX_STEP].n, nr_spans = 0;
    uint64_t ns = index->last_ns - index->first_ns;

    index->top = index->base;
    while (index->top < last && slot_of(ns, index->top)) {
        struct fg_cell_level *level = &index->levels[index->top / FG_INDEX_STEP];
        struct sources sources = {index, level, FG_INDEX_STEP, index->top, index->top + FG_INDEX_STEP};

        level[1] = (struct fg_cell_level){
            .cells = malloc((count_cells(&sources, &nr_spans) + 1) * sizeof(*level->cells))};
        if (!level[1].cells)
            return -ENOMEM;
        make_cells(&sources, &level[1]);
        index->top += FG_INDEX_STEP;
        n += level[1].n;
        if (n > most)
            return -ENOSPC;
    }
    return 0;
}

void fg_cells_free_levels(struct fg_call_index *index)
{
    for (unsigned i = index->base / FG_INDEX_STEP + 1; i < FG_INDEX_MAX_LEVELS; i++) {
        free(index->levels[i].cells);
        index->levels[i] = (struct fg_cell_level){0};
    }
}
