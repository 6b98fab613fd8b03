/* See graph_text.h.
 *
 * Task switches: the kernel prints a block where the task of a CPU changes. With the lane on each line
 * (funcgraph-cpu), the block comes where the task of a lane changes. With only the task on each line
 * (funcgraph-proc), there is no block, since it would repeat what the lines say. With neither, the block
 * comes where the task changes from line to line. */
#include "tracedata/text/graph_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/array.h"
#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/base/values.h"
#include "tracedata/text/call_text.h"
#include "tracedata/text/graph_note.h"

#define NO_TASK UINT32_MAX
#define ENTER_ARROW "==========>"
#define LEAVE_ARROW "<=========="
#define SWITCH_RULE " ------------------------------------------\n"

int fg_graph_text_init(struct fg_graph_text *graph, const struct fg_report_style *style,
                       struct fg_merge *merge)
{
    uint32_t nr_lanes = merge->file->nr_lanes;
    *graph = (struct fg_graph_text){.merge = merge, .last_task = NO_TASK};
    fg_graph_columns_init(&graph->columns, style, merge->names, merge->file->nr_cpus);
    graph->lanes = calloc(nr_lanes + (size_t)1, sizeof(*graph->lanes));
    if (!graph->lanes)
        return -ENOMEM;
    for (uint32_t i = 0; i < nr_lanes; i++)
        graph->lanes[i].task = graph->lanes[i].irq_task = NO_TASK;
    return 0;
}

void fg_graph_text_free(struct fg_graph_text *graph)
{
    for (uint32_t i = 0; graph->lanes && i < graph->merge->file->nr_lanes; i++)
        free(graph->lanes[i].functions);
    free(graph->lanes);
    graph->lanes = NULL;
}

static inline bool shows(const struct fg_graph_text *graph, enum fg_report_option option)
{
    return fg_report_shows(graph->columns.style, option);
}

static void put_switch(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];
    bool shows_cpu = shows(graph, FG_REPORT_CPU);
    uint32_t before = shows_cpu ? lane->task : graph->last_task;
    bool shown = shows_cpu || !shows(graph, FG_REPORT_PROC);

    if (lane->task != event->task)
        lane->depth = 0;
    lane->task = graph->last_task = event->task;
    if (!shown || before == NO_TASK || before == event->task)
        return;
    fg_color_begin(text, graph->columns.style, FG_COLOR_COMMENT);
    fg_text_lit(text, SWITCH_RULE);
    if (shows_cpu)
        fg_graph_put_lane(text, &graph->columns, event->cpu);
    else
        fg_text_char(text, ' ');
    fg_graph_put_task(text, &graph->columns, before);
    fg_text_lit(text, " => ");
    fg_graph_put_task(text, &graph->columns, event->task);
    fg_text_char(text, '\n');
    fg_text_lit(text, SWITCH_RULE);
    fg_color_end(text, graph->columns.style);
    fg_text_char(text, '\n');
}

/* "   ==========> |" before and "   <========== |" after a call for a signal. */
static void put_arrow(const struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event,
                      const char *arrow)
{
    bool has_column = shows(graph, FG_REPORT_DURATION);

    fg_graph_put_prefix(text, &graph->columns, event);
    if (has_column)
        fg_text_lit(text, "  ");
    fg_text_put(text, arrow, strlen(arrow));
    if (has_column)
        fg_text_lit(text, " |");
    fg_text_char(text, '\n');
}

/* Without funcgraph-irqs, calls for signals and their callees are hidden. Either end of such a call may
 * be lost. */
static bool is_hidden(struct fg_graph_lane *lane, const struct fg_event *event,
                      const struct fg_graph_event *call)
{
    if (lane->irq_task == event->task) {
        if (call->depth > lane->irq_depth)
            return true;
        lane->irq_task = NO_TASK;
    }
    if (call->is_irq && event->type == FG_EVENT_funcgraph_entry) {
        lane->irq_task = event->task;
        lane->irq_depth = call->depth;
    }
    return call->is_irq;
}

/* A comment, which its first part begins. Blanks separate the parts. */
struct comment {
    const struct fg_graph_text *graph;
    struct fg_text *text;
    bool has_begun;
};

static void comment_part(struct comment *comment, enum fg_color color)
{
    if (comment->has_begun) {
        fg_text_char(comment->text, ' ');
        return;
    }
    comment->has_begun = true;
    fg_color_begin(comment->text, comment->graph->columns.style, color);
    fg_text_lit(comment->text, " /* ");
}

static void comment_end(struct comment *comment)
{
    if (!comment->has_begun)
        return;
    fg_text_lit(comment->text, " */");
    fg_color_end(comment->text, comment->graph->columns.style);
}

static void put_exception(struct fg_text *text, const struct fg_value *value)
{
    fg_text_char(text, ' ');
    if (value->tag == FG_VALUE_OBJECT || value->tag == FG_VALUE_SIZED) /* the type is enough */
        fg_text_escaped(text, value->text, value->text_bytes, 0);
    else
        fg_value_print(text, value, false);
}

/* How a stretch of a call ended. */
struct outcome {
    uint32_t kind; /* enum fg_wire_exit_kind */
    bool has_value;
    bool shows_result;
    struct fg_value value;
};

static struct outcome outcome_of(const struct fg_graph_text *graph, const struct fg_graph_event *exit)
{
    struct outcome outcome = {.kind = exit->kind};
    const uint8_t *values = exit->values;
    outcome.has_value = fg_value_next(&values, exit->values_end, &outcome.value);
    outcome.shows_result = outcome.has_value && shows(graph, FG_REPORT_RETVAL) &&
                           (exit->kind == FG_WIRE_RETURN || exit->kind == FG_WIRE_SUSPEND);
    return outcome;
}

/* "ret=5", "raised ValueError", "suspended", "closed". */
static void put_outcome(struct comment *comment, const struct outcome *outcome)
{
    struct fg_text *text = comment->text;

    switch (outcome->kind) {
    case FG_WIRE_RETURN:
        break;
    case FG_WIRE_RAISE:
        comment_part(comment, FG_COLOR_WARNING);
        fg_text_lit(text, "raised");
        if (outcome->has_value)
            put_exception(text, &outcome->value);
        break;
    case FG_WIRE_SUSPEND:
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(text, "suspended");
        break;
    default:
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(text, "closed");
    }
    if (!outcome->shows_result)
        return;
    comment_part(comment, FG_COLOR_COMMENT);
    fg_text_lit(text, "ret=");
    fg_value_print(text, &outcome->value, shows(comment->graph, FG_REPORT_RETVAL_HEX));
}

/* "<-app.main:12", "resumed". */
static void put_origin(struct comment *comment, const struct fg_graph_event *entry)
{
    if (entry->caller != FG_FUNC_UNKNOWN && shows(comment->graph, FG_REPORT_RETADDR)) {
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(comment->text, "<-");
        fg_put_place(comment->text, comment->graph->columns.names, entry->caller, entry->caller_place);
    }
    if (entry->kind == FG_WIRE_RESUME) {
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(comment->text, "resumed");
    }
}

static bool reserve_depth(struct fg_graph_lane *lane, uint32_t depth)
{
    if (depth < lane->capacity)
        return true;
    size_t before = lane->capacity;
    if (fg_array_reserve(&lane->functions, &lane->capacity, depth + (size_t)1) < 0)
        return false;
    for (size_t i = before; i < lane->capacity; i++)
        lane->functions[i] = FG_FUNC_UNKNOWN;
    return true;
}

/* "f(n=3)", "import json" */
static void put_call(const struct fg_graph_text *graph, struct fg_text *text,
                     const struct fg_graph_event *entry)
{
    fg_text_fill(text, ' ', 2 * (size_t)entry->depth);
    fg_put_function(text, graph->columns.style, graph->columns.names, entry->func);
    if (fg_is_import(graph->columns.names, entry->func))
        return;
    fg_text_char(text, '(');
    if (shows(graph, FG_REPORT_ARGS))
        fg_put_arguments(text, graph->columns.names, entry->func, entry->values, entry->values_end);
    fg_text_char(text, ')');
}

/* "1,234 calls", at the end of an import. */
static void put_folded(struct comment *comment, const struct fg_event *event, uint32_t func)
{
    uint64_t calls;

    if (!fg_is_import(comment->graph->columns.names, func))
        return;
    calls = fg_event_folded(event).calls + 1; /* the outermost one, too */
    comment_part(comment, FG_COLOR_COMMENT);
    fg_put_calls(comment->text, calls);
}

static void put_leaf(const struct fg_graph_text *graph, struct fg_text *text,
                     const struct fg_graph_event *entry, const struct fg_event *end,
                     const struct fg_graph_event *exit)
{
    struct comment comment = {.graph = graph, .text = text};
    const struct outcome outcome = outcome_of(graph, exit);
    fg_graph_put_duration(text, &graph->columns, fg_duration_ns(exit));
    put_call(graph, text, entry);
    fg_text_char(text, ';');
    put_origin(&comment, entry);
    put_folded(&comment, end, exit->func);
    put_outcome(&comment, &outcome);
    comment_end(&comment);
    fg_text_char(text, '\n');
}

static void put_nested(const struct fg_graph_text *graph, struct fg_text *text,
                       const struct fg_graph_event *entry)
{
    struct comment comment = {.graph = graph, .text = text};
    fg_graph_put_no_duration(text, &graph->columns);
    put_call(graph, text, entry);
    fg_text_lit(text, " {");
    put_origin(&comment, entry);
    comment_end(&comment);
    fg_text_char(text, '\n');
}

static int put_entry(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];
    struct fg_graph_event entry, exit;
    if (!fg_decode_entry(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(graph->merge, event);
    if (!reserve_depth(lane, entry.depth))
        return -ENOMEM;
    if (entry.is_irq)
        put_arrow(graph, text, event, ENTER_ARROW);
    fg_graph_put_prefix(text, &graph->columns, event);
    const struct fg_event *next = fg_merge_peek(graph->merge);
    bool leaf = next && next->type == FG_EVENT_funcgraph_exit && !next->lost && fg_decode_exit(next, &exit) &&
                exit.func == entry.func && exit.depth == entry.depth;
    if (leaf) {
        put_leaf(graph, text, &entry, next, &exit);
        if (exit.is_irq)
            put_arrow(graph, text, event, LEAVE_ARROW);
        fg_merge_skip(graph->merge);
        lane->depth = entry.depth;
        lane->functions[entry.depth] = FG_FUNC_UNKNOWN;
    } else {
        put_nested(graph, text, &entry);
        lane->depth = entry.depth + 1;
        lane->functions[entry.depth] = entry.func;
    }
    return 0;
}

static int put_exit(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];
    struct comment comment = {.graph = graph, .text = text};
    struct outcome outcome;
    struct fg_graph_event exit;
    if (!fg_decode_exit(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(graph->merge, event);
    if (!reserve_depth(lane, exit.depth))
        return -ENOMEM;
    bool has_entry =
        exit.depth < lane->depth && lane->functions[exit.depth] == exit.func && exit.func != FG_FUNC_UNKNOWN;
    lane->depth = exit.depth;
    lane->functions[exit.depth] = FG_FUNC_UNKNOWN;

    fg_graph_put_prefix(text, &graph->columns, event);
    fg_graph_put_duration(text, &graph->columns, fg_duration_ns(&exit));
    fg_text_fill(text, ' ', 2 * (size_t)exit.depth);
    fg_text_char(text, '}');
    outcome = outcome_of(graph, &exit);
    if (!has_entry || shows(graph, FG_REPORT_TAIL) || outcome.shows_result) {
        const struct fg_label *name = fg_function_label(graph->columns.names, exit.func);
        comment_part(&comment, FG_COLOR_COMMENT);
        fg_text_put(text, name->text, name->bytes);
    }
    put_folded(&comment, event, exit.func);
    put_outcome(&comment, &outcome);
    comment_end(&comment);
    fg_text_char(text, '\n');
    if (shows(graph, FG_REPORT_OVERRUN)) {
        fg_text_lit(text, " (Overruns: ");
        fg_text_u64(text, exit.overrun, 0, ' ');
        fg_text_lit(text, ")\n");
    }
    if (exit.is_irq)
        put_arrow(graph, text, event, LEAVE_ARROW);
    return 0;
}

static bool is_left_out(struct fg_graph_text *graph, const struct fg_event *event)
{
    struct fg_graph_event call;
    bool is_call = (event->type == FG_EVENT_funcgraph_entry && fg_decode_entry(event, &call)) ||
                   (event->type == FG_EVENT_funcgraph_exit && fg_decode_exit(event, &call));

    return is_call && is_hidden(&graph->lanes[event->lane], event, &call);
}

int fg_graph_text_event(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    if (event->lost)
        fg_put_lost(text, graph->columns.style, graph->columns.names, event);
    if (!shows(graph, FG_REPORT_IRQS) && is_left_out(graph, event))
        return 0;
    if (graph->last_task != event->task || graph->lanes[event->lane].task != event->task)
        put_switch(graph, text, event);
    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
        return put_entry(graph, text, event);
    case FG_EVENT_funcgraph_exit:
        return put_exit(graph, text, event);
    default:
        return fg_graph_put_note(text, &graph->columns, graph->merge, event, graph->lanes[event->lane].depth);
    }
}
