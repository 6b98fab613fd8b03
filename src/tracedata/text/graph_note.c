/* See graph_note.h. */
#include "tracedata/text/graph_note.h"

#include "tracedata/base/folded.h"
#include "tracedata/text/call_text.h"
#include "tracedata/text/event_text.h"

/* Names in a comment have no colour of their own. */
static struct fg_report_style colorless(const struct fg_graph_columns *columns)
{
    const struct fg_report_style *style = columns->style;

    return (struct fg_report_style){
        .options = style->options, .links = style->links, .nr_links = style->nr_links};
}

/* Begins the line; `duration_ns` may be NULL. */
static void begin_note(struct fg_text *text, const struct fg_graph_columns *columns,
                       const struct fg_event *event, uint32_t depth, const uint64_t *duration_ns)
{
    fg_graph_put_prefix(text, columns, event);
    if (duration_ns)
        fg_graph_put_duration(text, columns, *duration_ns);
    else
        fg_graph_put_no_duration(text, columns);
    fg_text_fill(text, ' ', 2 * (size_t)depth);
    fg_color_begin(text, columns->style, FG_COLOR_COMMENT);
    fg_text_lit(text, "/* ");
}

static void end_note(struct fg_text *text, const struct fg_graph_columns *columns)
{
    fg_text_lit(text, " */");
    fg_color_end(text, columns->style);
    fg_text_char(text, '\n');
}

/* The text of a print event, without the newlines at its end. */
static void put_message(struct fg_text *text, const struct fg_event *event)
{
    const char *message = fg_event_print(event)->text;
    size_t bytes = fg_print_bytes(event);

    while (bytes && message[bytes - 1] == '\n')
        bytes--;
    fg_text_escaped(text, message, bytes, 0);
}

static void put_function(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_event *event)
{
    const struct fg_flat_data *call = fg_event_function(event);
    const struct fg_report_style style = colorless(columns);

    fg_put_function(text, &style, columns->names, call->func);
    fg_put_caller(text, &style, columns->names, call);
}

/* "import json: 1,234 calls": its end is not in the trace. */
static void put_folded(struct fg_text *text, const struct fg_graph_columns *columns,
                       const struct fg_event *event, uint32_t depth)
{
    const struct fg_folded_event *folded = (const struct fg_folded_event *)event->data;
    const struct fg_report_style style = colorless(columns);

    begin_note(text, columns, event, depth, NULL);
    fg_put_function(text, &style, columns->names, folded->func);
    fg_text_lit(text, ": ");
    fg_put_calls(text, folded->folded.calls + 1);
    end_note(text, columns);
}

int fg_graph_put_note(struct fg_text *text, const struct fg_graph_columns *columns, struct fg_merge *merge,
                      const struct fg_event *event, uint32_t depth)
{
    const struct fg_report_style style = colorless(columns);
    const struct fg_event_type *type;

    if (!fg_event_is_whole(event))
        return fg_merge_damaged(merge, event);
    switch (event->type) {
    case FG_EVENT_recorder_wait:
        begin_note(text, columns, event, depth, &(uint64_t){fg_event_recorder_wait(event)->duration_ns});
        fg_text_lit(text, "waited for the recorder");
        break;
    case FG_EVENT_overrun:
        begin_note(text, columns, event, depth, NULL);
        fg_text_u64(text, fg_event_overrun(event)->total, 0, ' ');
        fg_text_lit(text, " calls not traced so far: the shadow stack was full");
        break;
    case FG_EVENT_print:
        begin_note(text, columns, event, depth, NULL);
        put_message(text, event);
        break;
    case FG_EVENT_raw_data:
        begin_note(text, columns, event, depth, NULL);
        fg_put_raw_data(text, event);
        break;
    case FG_EVENT_function:
        begin_note(text, columns, event, depth, NULL);
        put_function(text, columns, event);
        break;
    case FG_EVENT_kernel_stack:
        begin_note(text, columns, event, depth, NULL);
        fg_put_stack(text, &style, columns->names, event);
        break;
    case FG_EVENT_func_repeats:
        begin_note(text, columns, event, depth, NULL);
        fg_put_repeats(text, &style, columns->names, event);
        break;
    case FG_EVENT_unknown_event:
        begin_note(text, columns, event, depth, NULL);
        fg_text_lit(text, FG_UNKNOWN_EVENT_TEXT);
        break;
    case FG_EVENT_FOLDED:
        put_folded(text, columns, event, depth);
        return 0;
    default:
        type = fg_event_table_find(fg_trace_file_events(merge->file), event->type);
        if (!type)
            return 0; /* of a later version */
        begin_note(text, columns, event, depth, NULL);
        fg_put_event(text, columns->names, type, event);
    }
    end_note(text, columns);
    return 0;
}
