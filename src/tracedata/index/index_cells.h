/* Cells of the index: made of spans, and of cells of a finer level. All that is here takes spans in the order
 * of index_sort.h by place, and keeps it. */
#ifndef FG_INDEX_CELLS_H
#define FG_INDEX_CELLS_H

#include "tracedata/index/call_index.h"

/* How many spans fg_cells_fold() would leave, and at most how many cells of the base there would be. */
void fg_cells_count_fold(const struct fg_call_index *index, unsigned level, size_t *nr_spans,
                         size_t *nr_cells);

/* Takes spans of classes below @level out of the index, and adds them to the cells of its base, which are
 * cells of @level then: it is the base, or a level above it, which is made the base. There are at most
 * @most_cells then, as fg_cells_count_fold() says. Return: 0 or -ENOMEM. */
int fg_cells_fold(struct fg_call_index *index, unsigned level, size_t most_cells);

/* Makes the levels above `base`, at most up to @last, and sets `top`. Return: 0; -ENOSPC: there are more than
 * @most cells, and not all levels; or -ENOMEM. */
int fg_cells_make_levels(struct fg_call_index *index, size_t most, unsigned last);
void fg_cells_free_levels(struct fg_call_index *index);

#endif
