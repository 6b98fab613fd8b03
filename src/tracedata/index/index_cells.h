/* Cells of the index: made of spans, and of cells of a finer level. */
#ifndef FG_INDEX_CELLS_H
#define FG_INDEX_CELLS_H

#include "tracedata/index/call_index.h"

/* Takes spans of classes below @level out of @spans, and adds them to @cells, which has cells of the level
 * @from: it has cells of @level then, sorted. Return: 0 or -ENOMEM. */
int fg_cells_fold(struct fg_cell_level *cells, unsigned from, unsigned level, struct fg_span *spans,
                  size_t *nr_spans);

/* Makes the levels above `base` of an index, and sets `top`. Return: 0; -ENOSPC: there are more than @most
 * cells, and not all levels; or -ENOMEM. */
int fg_cells_make_levels(struct fg_call_index *index, size_t most);
void fg_cells_free_levels(struct fg_call_index *index);

#endif
