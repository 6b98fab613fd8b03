/* The kernel's function_graph layout, column by column (Documentation/trace/ftrace.rst). Python adds:
 *
 *     f(n=3) {                   arguments as values.h says, if they were recorded
 *     f(n=1); // ret=1           a call that called nothing traced; its result, if it was recorded
 *     } // f ret=5
 *     f() { // <-app.main:12     where the call was made, if that was recorded: function and line
 *     } // raised ValueError
 *     } // suspended             a generator or coroutine gave way (`f suspended ret=5`: what it yielded)
 *     g() { // resumed           it runs on
 *     } // closed                it was closed, cancelled or collected
 *     g(); // resumed closed
 *     ==========>                the next line's call is made by the interpreter, for a signal
 *     <==========                that call has ended
 *     } // f                     with funcgraph-tail, or because the entry was lost or not recorded
 *
 * where // stands for a comment in slash and asterisk. What happened besides calls is a comment line. */
#ifndef FG_GRAPH_TEXT_H
#define FG_GRAPH_TEXT_H

#include "tracedata/base/text.h"
#include "tracedata/read/merge.h"
#include "tracedata/view/graph_columns.h"

struct fg_graph_lane {
    uint32_t *functions; /* by depth: what was entered there last, FG_FUNC_UNKNOWN if it has ended */
    size_t capacity;
    uint32_t depth;               /* calls in progress */
    uint32_t task;                /* whose event was printed last in this lane */
    uint32_t irq_task, irq_depth; /* who is in a call for a signal that is not shown, and how deep */
};

struct fg_graph_text {
    struct fg_graph_columns columns;
    struct fg_merge *merge;
    struct fg_graph_lane *lanes;
    uint32_t last_task; /* whose event was printed last in any lane */
};

/* 0 or -ENOMEM; may be freed whatever was returned. */
int fg_graph_text_init(struct fg_graph_text *graph, const struct fg_report_style *style,
                       struct fg_merge *merge);
void fg_graph_text_free(struct fg_graph_text *graph);

/* Prints one event, and the exit behind it if the two make one line. Returns 0 or an error of
 * fg_merge_next. */
int fg_graph_text_event(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event);

#endif
