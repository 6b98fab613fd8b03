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
    if (level->n && compare_cells(&level->cells[level->n - 1], cell) == 0)
        cell_add(&level->cells[level->n - 1], cell);
    else
        level->cells[level->n++] = *cell;
}

static bool is_between(const struct fg_span *span, unsigned from, unsigned end)
{
    unsigned class = fg_span_class(span);

    return class >= from && class < end;
}

/* Cells of @level of the spans of classes from @from to before @end. */
static int cells_of_spans(const struct fg_call_index *index, unsigned from, unsigned end, unsigned level,
                          struct fg_cell_level *made)
{
    size_t most = 0;

    for (size_t i = 0; i < index->nr_spans; i++)
        most += is_between(&index->spans[i], from, end);
    *made = (struct fg_cell_level){.cells = malloc((most + 1) * sizeof(*made->cells))};
    for (size_t i = 0; made->cells && i < index->nr_spans; i++) {
        struct fg_span_cell cell;

        if (!is_between(&index->spans[i], from, end))
            continue;
        cell = cell_of(&index->spans[i], level);
        append(made, &cell);
    }
    return made->cells ? 0 : -ENOMEM;
}

/* A cell as a part of one that is so many levels coarser. */
static struct fg_span_cell coarser(struct fg_span_cell cell, unsigned levels)
{
    cell.slot = slot_of(cell.slot, levels);
    return cell;
}

/* Merges cells, made coarser by so many levels, with others. */
static int merge(const struct fg_cell_level *finer, unsigned levels, const struct fg_cell_level *others,
                 struct fg_cell_level *made)
{
    struct fg_span_cell *smaller;
    size_t i = 0, j = 0;

    *made = (struct fg_cell_level){.cells = malloc((finer->n + others->n + 1) * sizeof(*made->cells))};
    if (!made->cells)
        return -ENOMEM;
    while (i < finer->n || j < others->n) {
        struct fg_span_cell cell = i < finer->n ? coarser(finer->cells[i], levels) : others->cells[j];

        if (i == finer->n || (j < others->n && compare_cells(&others->cells[j], &cell) < 0)) {
            append(made, &others->cells[j++]);
        } else {
            append(made, &cell);
            i++;
        }
    }
    smaller = realloc(made->cells, (made->n + 1) * sizeof(*made->cells));
    if (smaller)
        made->cells = smaller;
    return 0;
}

/* Cells of @level: those of a finer one, and the spans of classes from @from to below @level. */
static int make_cells(const struct fg_call_index *index, const struct fg_cell_level *finer, unsigned levels,
                      unsigned from, unsigned level, struct fg_cell_level *made)
{
    struct fg_cell_level added;
    int error = cells_of_spans(index, from, level, level, &added);

    if (!error)
        error = merge(finer, levels, &added, made);
    free(added.cells);
    return error;
}

static void drop_spans(struct fg_call_index *index, unsigned level)
{
    size_t n = 0;

    for (size_t i = 0; i < index->nr_spans; i++)
        if (fg_span_class(&index->spans[i]) >= level)
            index->spans[n++] = index->spans[i];
    index->nr_spans = n;
}

int fg_cells_fold(struct fg_call_index *index, unsigned level)
{
    struct fg_cell_level *base = &index->levels[index->base / FG_INDEX_STEP], made;
    int error = make_cells(index, base, level - index->base, 0, level, &made);

    if (error)
        return error;
    drop_spans(index, level);
    free(base->cells);
    *base = (struct fg_cell_level){0};
    index->base = level;
    index->levels[level / FG_INDEX_STEP] = made;
    return 0;
}

int fg_cells_make_levels(struct fg_call_index *index, size_t most, unsigned last)
{
    size_t n = index->levels[index->base / FG_INDEX_STEP].n;
    uint64_t ns = index->last_ns - index->first_ns;

    index->top = index->base;
    while (index->top < last && slot_of(ns, index->top)) {
        struct fg_cell_level *level = &index->levels[index->top / FG_INDEX_STEP];
        int error =
            make_cells(index, level, FG_INDEX_STEP, index->top, index->top + FG_INDEX_STEP, &level[1]);

        if (error)
            return error;
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
