/* The kernel's function_graph layout, column by column (Documentation/trace/ftrace.rst). Python adds:
 *
 *     f(n=3) {                   recorded arguments, as values.h prints them
 *     f(n=1); // ret=1           a call without traced callees; its recorded result
 *     } // f ret=5
 *     f() { // <-app.main:12     the recorded place of the call: function and line
 *     } // raised ValueError
 *     } // suspended             a generator or coroutine was suspended (`f suspended ret=5`: it yielded 5)
 *     g() { // resumed           it was resumed
 *     } // closed                it was closed, cancelled or collected
 *     g(); // resumed closed
 *     ==========>                the interpreter makes the call of the next line for a signal
 *     <==========                that call has ended
 *     } // f                     with funcgraph-tail, or if the entry was lost or not recorded
 *
 * where // stands for a comment between slash and asterisk. */
#ifndef FG_GRAPH_TEXT_H
#define FG_GRAPH_TEXT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/text/graph_columns.h"

struct fg_graph_lane {
    uint32_t *functions; /* by depth: the function of the call in progress, or FG_FUNC_UNKNOWN */
    size_t capacity;
    uint32_t depth;               /* calls in progress */
    uint32_t task;                /* of the event printed last in this lane */
    uint32_t irq_task, irq_depth; /* the task in a hidden call for a signal, and that call's depth */
};

/* Calls of the import machinery that import nothing, with nothing in between: one line, which waits. */
struct fg_graph_stretch {
    struct fg_text line;         /* of all of them */
    struct fg_event begin;       /* of the first one; its data are gone */
    struct fg_graph_event entry; /* likewise, without values */
    uint64_t duration_ns;
    uint64_t calls; /* 0: none waits */
};

struct fg_graph_text {
    struct fg_graph_columns columns;
    struct fg_merge *merge;
    struct fg_graph_lane *lanes;
    struct fg_graph_stretch stretch;
    uint32_t last_task; /* of the event printed last in any lane */
};

/* Return: 0 or -ENOMEM. Must be freed in any case. */
int fg_graph_text_init(struct fg_graph_text *graph, const struct fg_report_style *style,
                       struct fg_merge *merge);
void fg_graph_text_free(struct fg_graph_text *graph);

/* Prints one event, together with the exit after it if the two make one line. Return: 0, or an error of
 * fg_merge_next(). */
int fg_graph_text_event(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event);
/* Prints a line that waits for the next event. */
void fg_graph_text_flush(struct fg_graph_text *graph, struct fg_text *text);

#endif
