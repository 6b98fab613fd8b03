/* See selection.h. */
#include "tracedata/select/selection.h"

#include <stdlib.h>

void fg_selection_free(struct fg_selection *selection)
{
    for (size_t i = 0; i < selection->nr_events; i++)
        fg_event_filter_free(selection->events[i].filter);
    free(selection->events);
    free(selection->functions);
    *selection = (struct fg_selection){0};
}
