/* See selection.h. */
#include "tracedata/select/selection.h"

#include <stdlib.h>

static void free_filter(struct fg_call_filter *made)
{
    fg_event_filter_free(made->filter);
    for (uint32_t i = 0; i < made->attributes.n; i++) {
        free(made->attributes.items[i].name);
        fg_text_free(&made->attributes.items[i].others);
    }
    free(made->attributes.items);
}

static void free_values(struct fg_selected_values *values)
{
    for (size_t i = 0; i < values->nr_made; i++)
        free_filter(&values->made[i]);
    free(values->made);
    free(values->filters);
    fg_call_marks_free(&values->marks);
    free(values);
}

void fg_selection_free(struct fg_selection *selection)
{
    if (selection->values)
        free_values(selection->values);
    for (size_t i = 0; i < selection->nr_events; i++)
        fg_event_filter_free(selection->events[i].filter);
    free(selection->events);
    free(selection->functions);
    *selection = (struct fg_selection){0};
}
