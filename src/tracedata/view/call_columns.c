/* See call_columns.h: the columns' memory. */
#include "tracedata/view/call_columns.h"

#include <errno.h>
#include <stdlib.h>

static bool grow(void *array, size_t items, size_t item_bytes)
{
    void **at = array;
    void *larger = realloc(*at, items * item_bytes);

    if (larger)
        *at = larger;
    return larger != NULL;
}

static bool grow_texts(struct fg_text_column *column, size_t capacity)
{
    bool is_new = !column->offsets;

    /* An array without items has memory all the same: some users of the buffer protocol need that. */
    if (!grow(&column->offsets, capacity + 1, sizeof(*column->offsets)) || !fg_text_reserve(&column->text, 1))
        return false;
    if (is_new)
        column->offsets[0] = 0;
    return true;
}

int fg_call_columns_reserve(struct fg_call_columns *columns, size_t capacity)
{
    bool has_room = true;

    if (capacity <= columns->capacity)
        return 0;
    if (capacity < 2 * columns->capacity)
        capacity = 2 * columns->capacity;
#define X(name, type, format, text) has_room = has_room && grow(&columns->name, capacity, sizeof(type));
    FG_CALL_COLUMNS(X)
#undef X
    has_room = has_room && grow_texts(&columns->arguments, capacity);
    has_room = has_room && grow_texts(&columns->result, capacity);
    if (has_room)
        columns->capacity = capacity;
    return has_room ? 0 : -ENOMEM;
}

void fg_call_columns_free(struct fg_call_columns *columns)
{
#define X(name, type, format, text) free(columns->name);
    FG_CALL_COLUMNS(X)
#undef X
    free(columns->arguments.offsets);
    free(columns->result.offsets);
    fg_text_free(&columns->arguments.text);
    fg_text_free(&columns->result.text);
    *columns = (struct fg_call_columns){0};
}
