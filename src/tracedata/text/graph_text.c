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

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/text/call_text.h"
#include "tracedata/text/graph_call.h"
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
    fg_text_free(&graph->stretch.line);
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

/* ---- calls of the import machinery that import nothing: those that follow one another are one line */

/* Whether an entry comes right after the calls that wait, and may be one of them. */
static bool is_next_in_stretch(const struct fg_graph_text *graph, const struct fg_event *event)
{
    const struct fg_graph_stretch *stretch = &graph->stretch;
    struct fg_graph_event entry;

    return stretch->calls && event->type == FG_EVENT_funcgraph_entry && !event->lost &&
           event->lane == stretch->begin.lane && event->task == stretch->begin.task &&
           fg_decode_graph(event, &entry) && entry.func == stretch->entry.func &&
           entry.depth == stretch->entry.depth && !entry.is_irq;
}

void fg_graph_text_flush(struct fg_graph_text *graph, struct fg_text *text)
{
    struct fg_graph_stretch *stretch = &graph->stretch;

    if (stretch->line.failed)
        text->failed = true;
    fg_text_put(text, stretch->line.data, stretch->line.bytes);
    stretch->line.bytes = 0;
    stretch->calls = 0;
}

/* The line waits for the next event. */
static void put_in_stretch(struct fg_graph_text *graph, const struct fg_event *event,
                           const struct fg_graph_event *entry, const struct fg_event *end,
                           const struct fg_graph_event *exit)
{
    struct fg_graph_stretch *stretch = &graph->stretch;
    bool is_first = !stretch->calls;

    if (is_first)
        *stretch = (struct fg_graph_stretch){.line = stretch->line, .begin = *event, .entry = *entry};
    stretch->calls += fg_event_folded(end).calls + 1;
    stretch->duration_ns += fg_duration_ns(exit);
    stretch->line.bytes = 0;
    fg_graph_put_prefix(&stretch->line, &graph->columns, &stretch->begin);
    if (is_first)
        fg_graph_put_leaf(&stretch->line, &graph->columns, entry, end, exit);
    else
        fg_graph_put_leaves(&stretch->line, &graph->columns, &stretch->entry, stretch->duration_ns,
                            stretch->calls);
}

/* ---- calls */

static void put_leaf(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event,
                     const struct fg_graph_event *entry, const struct fg_event *end,
                     const struct fg_graph_event *exit)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];

    if (fg_is_unnamed_import(graph->columns.names, entry->func) && !entry->is_irq) {
        put_in_stretch(graph, event, entry, end, exit);
    } else {
        if (entry->is_irq)
            put_arrow(graph, text, event, ENTER_ARROW);
        fg_graph_put_prefix(text, &graph->columns, event);
        fg_graph_put_leaf(text, &graph->columns, entry, end, exit);
        if (exit->is_irq)
            put_arrow(graph, text, event, LEAVE_ARROW);
    }
    fg_merge_skip(graph->merge);
    lane->depth = entry->depth;
    lane->functions[entry->depth] = FG_FUNC_UNKNOWN;
}

static void put_nested(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event,
                       const struct fg_graph_event *entry)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];

    fg_graph_text_flush(graph, text);
    if (entry->is_irq)
        put_arrow(graph, text, event, ENTER_ARROW);
    fg_graph_put_prefix(text, &graph->columns, event);
    fg_graph_put_nested(text, &graph->columns, entry);
    lane->depth = entry->depth + 1;
    lane->functions[entry->depth] = entry->func;
}

static int put_entry(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    struct fg_graph_event entry, exit;
    const struct fg_event *next;

    if (!fg_decode_graph(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(graph->merge, event);
    if (!reserve_depth(&graph->lanes[event->lane], entry.depth))
        return -ENOMEM;
    next = fg_merge_peek(graph->merge);
    if (next && next->type == FG_EVENT_funcgraph_exit && !next->lost && fg_decode_graph(next, &exit) &&
        exit.func == entry.func && exit.depth == entry.depth)
        put_leaf(graph, text, event, &entry, next, &exit);
    else
        put_nested(graph, text, event, &entry);
    return 0;
}

static int put_exit(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    struct fg_graph_lane *lane = &graph->lanes[event->lane];
    struct fg_graph_event exit;
    bool has_entry;

    if (!fg_decode_graph(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(graph->merge, event);
    if (!reserve_depth(lane, exit.depth))
        return -ENOMEM;
    has_entry =
        exit.depth < lane->depth && lane->functions[exit.depth] == exit.func && exit.func != FG_FUNC_UNKNOWN;
    lane->depth = exit.depth;
    lane->functions[exit.depth] = FG_FUNC_UNKNOWN;
    fg_graph_put_prefix(text, &graph->columns, event);
    fg_graph_put_end(text, &graph->columns, event, &exit, has_entry);
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
    bool is_call = fg_event_is_call(event->type) && fg_decode_graph(event, &call);

    return is_call && is_hidden(&graph->lanes[event->lane], event, &call);
}

int fg_graph_text_event(struct fg_graph_text *graph, struct fg_text *text, const struct fg_event *event)
{
    if (!is_next_in_stretch(graph, event))
        fg_graph_text_flush(graph, text);
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
