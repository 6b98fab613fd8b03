/* See index_cells.h. */
#include "tracedata/index/index_cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int compare_cells(const void *a, const void *b)
{
    const struct fg_span_cell *one = a, *other = b;

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

/* Sorts cells and makes one of those of each place. */
static void merge_cells(struct fg_cell_level *level)
{
    size_t n = 0;

    qsort(level->cells, level->n, sizeof(*level->cells), compare_cells);
    for (size_t i = 0; i < level->n; i++) {
        if (n && compare_cells(&level->cells[n - 1], &level->cells[i]) == 0)
            cell_add(&level->cells[n - 1], &level->cells[i]);
        else
            level->cells[n++] = level->cells[i];
    }
    level->n = n;
}

/* Gives back what is not needed. */
static void trim(struct fg_cell_level *level)
{
    void *smaller = level->n ? realloc(level->cells, level->n * sizeof(*level->cells)) : NULL;

    if (smaller)
        level->cells = smaller;
}

static void coarsen(struct fg_cell_level *cells, unsigned from, unsigned to)
{
    for (size_t i = 0; i < cells->n; i++)
        cells->cells[i].slot = slot_of(cells->cells[i].slot, to - from);
}

static size_t count_below(const struct fg_span *spans, size_t nr_spans, unsigned level)
{
    size_t n = 0;

    for (size_t i = 0; i < nr_spans; i++)
        n += fg_span_class(&spans[i]) < level;
    return n;
}

int fg_cells_fold(struct fg_cell_level *cells, unsigned from, unsigned level, struct fg_span *spans,
                  size_t *nr_spans)
{
    size_t most = cells->n + count_below(spans, *nr_spans, level), kept = 0;
    struct fg_span_cell *grown = realloc(cells->cells, (most + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    cells->cells = grown;
    coarsen(cells, from, level);
    for (size_t i = 0; i < *nr_spans; i++) {
        if (fg_span_class(&spans[i]) < level)
            cells->cells[cells->n++] = cell_of(&spans[i], level);
        else
            spans[kept++] = spans[i];
    }
    *nr_spans = kept;
    merge_cells(cells);
    trim(cells);
    return 0;
}

/* The cells of @level: those of the level below it, and the spans of the classes between. */
static int make_level(struct fg_call_index *index, unsigned level)
{
    const struct fg_cell_level *finer = &index->levels[level / FG_INDEX_STEP - 1];
    struct fg_cell_level *made = &index->levels[level / FG_INDEX_STEP];
    unsigned from = level - FG_INDEX_STEP;
    size_t most = finer->n;

    for (size_t i = 0; i < index->nr_spans; i++)
        most += fg_span_class(&index->spans[i]) - from < FG_INDEX_STEP;
    made->cells = malloc((most + 1) * sizeof(*made->cells));
    if (!made->cells)
        return -ENOMEM;
    if (finer->n)
        memcpy(made->cells, finer->cells, finer->n * sizeof(*made->cells));
    made->n = finer->n;
    coarsen(made, from, level);
    for (size_t i = 0; i < index->nr_spans; i++)
        if (fg_span_class(&index->spans[i]) - from < FG_INDEX_STEP)
            made->cells[made->n++] = cell_of(&index->spans[i], level);
    merge_cells(made);
    trim(made);
    return 0;
}

int fg_cells_make_levels(struct fg_call_index *index, size_t most)
{
    size_t n = index->levels[index->base / FG_INDEX_STEP].n;
    uint64_t ns = index->last_ns - index->first_ns;

    for (index->top = index->base; index->top < FG_INDEX_NR_CLASSES && slot_of(ns, index->top);) {
        int error = make_level(index, index->top + FG_INDEX_STEP);

        index->top += FG_INDEX_STEP;
        if (error)
            return error;
        n += index->levels[index->top / FG_INDEX_STEP].n;
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
