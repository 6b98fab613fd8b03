/* Which events of a trace are read. docs/reference/trace-text.md ("Selections") has the meaning of each
 * choice. */
#ifndef FG_SELECTION_H
#define FG_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/filter/filter.h"
#include "tracedata/select/call_image.h"
#include "tracedata/select/call_marks.h"

/* Bits of fg_selection.functions. */
enum fg_selection_mark {
    FG_SELECT_NAMED = 1, /* -l selects its calls */
    FG_SELECT_ROOT = 2,  /* -g selects its calls and all that they call */
};

/* A kind of event that -F selects. */
struct fg_selected_event {
    uint32_t type;                  /* as of fg_event */
    struct fg_event_filter *filter; /* which of them; NULL: all */
};

/* A filter over the image of a call. */
struct fg_call_filter {
    struct fg_event_filter *filter;
    struct fg_call_attributes attributes;
};

/* Which calls are wanted by their values (--where). */
struct fg_selected_values {
    uint32_t *filters; /* by function: 1 + its place in `made`; 0: none of its calls */
    uint32_t nr_functions;
    struct fg_call_filter *made;
    size_t nr_made;
    uint32_t nr_callers;        /* so many calls around each are shown (--callers) */
    bool has_callees;           /* all that they call is shown (--callees) */
    struct fg_call_marks marks; /* made by fg_find_calls() */
};

struct fg_selection {
    uint8_t *functions; /* by index: enum fg_selection_mark, or-ed; NULL: all calls are wanted */
    uint32_t nr_functions;
    bool has_names, has_roots;
    uint64_t from, to;                /* times of events that are read, both included */
    uint32_t max_depth;               /* calls so many levels deep are the last; 0: all */
    uint64_t longer_ns;               /* calls that ran at least so long; 0: all */
    bool hides_calls;                 /* only events of `events` are read */
    bool chooses_events;              /* other events than calls are read only if they are in `events` */
    struct fg_selected_event *events; /* sorted by type */
    size_t nr_events;
    struct fg_selected_values *values; /* NULL: values do not matter */
};

void fg_selection_free(struct fg_selection *selection);

#endif
