/* See call_index.h: the memory of an index. */
#include "tracedata/index/call_index.h"

#include <stdlib.h>

struct fg_call_index *fg_call_index_new(uint32_t nr_functions)
{
    struct fg_call_index *index = calloc(1, sizeof(*index));

    if (!index)
        return NULL;
    index->nr_functions = nr_functions;
    index->functions = calloc((size_t)nr_functions + 1, sizeof(*index->functions));
    if (index->functions)
        return index;
    free(index);
    return NULL;
}

static void free_room(struct fg_call_index *index)
{
    if (index->room) {
        free(index->room->spans);
        free(index->room->cells);
    }
    free(index->room);
    index->room = NULL;
}

static void *shrunk(void *array, size_t bytes)
{
    void *smaller = realloc(array, bytes + 1);

    return smaller ? smaller : array;
}

void fg_call_index_free_room(struct fg_call_index *index)
{
    struct fg_cell_level *base = &index->levels[index->base / FG_INDEX_STEP];

    free_room(index);
    index->spans = shrunk(index->spans, index->nr_spans * sizeof(*index->spans));
    index->spans_capacity = index->nr_spans;
    base->cells = shrunk(base->cells, base->n * sizeof(*base->cells));
}

static void free_arrays(struct fg_call_index *index)
{
    for (uint32_t i = 0; i <= index->nr_functions; i++)
        free(index->functions[i]);
    for (unsigned i = 0; i < FG_INDEX_MAX_LEVELS; i++)
        free(index->levels[i].cells);
    free(index->lanes);
    free(index->spans);
    free_room(index);
    free(index->by_function.numbers);
    free(index->raised.numbers);
    free(index->blocks);
    free(index->shorts);
    free(index->marks);
    free(index->tasks);
}

void fg_call_index_free(struct fg_call_index *index)
{
    if (!index)
        return;
    if (!index->image)
        free_arrays(index);
    free(index->image);
    free((void *)index->functions);
    free(index);
}
