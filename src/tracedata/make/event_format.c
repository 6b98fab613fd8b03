/* See event_format.h. */
#include "tracedata/make/event_format.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/make/dat_event_format.h"

int fg_event_format(const struct fg_event_words *words, uint32_t id, struct fg_text *text)
{
    struct fg_event_table table = {0};
    struct fg_dat_event event = {0};
    int64_t number = fg_event_table_take(&table, words);
    int error = number < 0 ? (int)number : fg_dat_event_find_views(&event, &table.types[0]);

    if (error == 0) {
        fg_dat_event_place_views(&event, &table.types[0]);
        fg_dat_event_put_format(text, &table.types[0], &event, id);
        error = text->failed ? -ENOMEM : 0;
    }
    free(event.views);
    fg_event_table_free(&table);
    return error;
}
