/* How a report looks: the one table of its options, and the style of a buffer's lines. */
#ifndef FG_REPORT_STYLE_H
#define FG_REPORT_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fg_option_initial { FG_OPTION_OFF, FG_OPTION_ON, FG_OPTION_AUTO };

/* X(enum name, name, default, what it shows). AUTO: on if the report shows more than one task. */
#define FG_REPORT_OPTIONS(X)                                                                                 \
    X(CPU, "funcgraph-cpu", OFF, "the lane of the trace, where the kernel has the CPU")                      \
    X(OVERHEAD, "funcgraph-overhead", ON, "marks: + over 10 us, ! 100 us, # 1 ms, * 10 ms, @ 100 ms, $ 1 s") \
    X(PROC, "funcgraph-proc", AUTO, "the task's name and thread id")                                         \
    X(DURATION, "funcgraph-duration", ON, "how long the call took")                                          \
    X(ABSTIME, "funcgraph-abstime", OFF, "the time on the trace's clock: seconds, or what it counts")        \
    X(IRQS, "funcgraph-irqs", ON, "calls for signals, between arrows")                                       \
    X(TAIL, "funcgraph-tail", OFF, "the function's name after a closing brace")                              \
    X(OVERRUN, "funcgraph-overrun", OFF, "after each closing brace: calls of the task that were not traced") \
    X(ARGS, "funcgraph-args", ON, "arguments, if they were recorded")                                        \
    X(RETADDR, "funcgraph-retaddr", ON, "where the call was made, if that was recorded")                     \
    X(RETVAL, "funcgraph-retval", ON, "results, if they were recorded")                                      \
    X(RETVAL_HEX, "funcgraph-retval-hex", OFF, "integers among the results in base 16")                      \
    X(SYM_OFFSET, "sym-offset", ON, "of the function tracer: the line of the caller, if that was recorded")

enum fg_report_option_index {
#define X(id, name, initial, help) FG_REPORT_INDEX_##id,
    FG_REPORT_OPTIONS(X)
#undef X
        FG_REPORT_NR_OPTIONS
};

enum fg_report_option {
#define X(id, name, initial, help) FG_REPORT_##id = 1 << FG_REPORT_INDEX_##id,
    FG_REPORT_OPTIONS(X)
#undef X
};

/* TRACE_CMD: as trace-cmd prints a kernel's trace, which it must be. */
enum fg_layout { FG_LAYOUT_FUNCTION_GRAPH, FG_LAYOUT_FUNCTION, FG_LAYOUT_TRACE_CMD };

/* Where a function's source is, as a terminal's link has it (OSC 8). */
struct fg_source_link {
    const char *address; /* a zero byte stands for the line; NULL: no link */
    size_t bytes;
    uint32_t line; /* on which the function begins */
};

/* How a buffer of the trace is printed. */
struct fg_report_style {
    enum fg_layout layout;
    uint32_t options; /* enum fg_report_option, or-ed */
    bool color;
    uint64_t nr_events, nr_lost;        /* for the header of the `function` layout */
    const char *prefix;                 /* before each line after the header; or NULL */
    bool counts_time;                   /* the trace's clock counts something else than nanoseconds */
    const struct fg_source_link *links; /* by function; names and places are links */
    uint32_t nr_links;                  /* 0: they are not */
};

/* True if the option is on. */
static inline bool fg_report_shows(const struct fg_report_style *style, enum fg_report_option option)
{
    return (style->options & option) != 0;
}

#endif
