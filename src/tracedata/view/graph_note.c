/* See graph_note.h. */
#include "tracedata/view/graph_note.h"

#include "tracedata/view/call_text.h"

/* Names in a comment have no colour of their own. */
static const struct fg_report_style plain;

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

static void put_message(struct fg_text *text, const char *message, size_t most_bytes)
{
    size_t bytes = strnlen(message, most_bytes);
    while (bytes && message[bytes - 1] == '\n')
        bytes--;
    fg_text_escaped(text, message, bytes, 0);
}

int fg_graph_put_note(struct fg_text *text, const struct fg_graph_columns *columns, struct fg_merge *merge,
                      const struct fg_event *event, uint32_t depth)
{
    const struct fg_name_table *names = columns->names;

    switch (event->type) {
    case FG_EVENT_recorder_wait: {
        const struct fg_wire_recorder_wait *wait = fg_event_recorder_wait(event);
        if (!wait)
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, &(uint64_t){wait->duration_ns});
        fg_text_lit(text, "waited for the recorder");
        break;
    }
    case FG_EVENT_overrun: {
        const struct fg_wire_overrun *overrun = fg_event_overrun(event);
        if (!overrun)
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, NULL);
        fg_text_u64(text, overrun->total, 0, ' ');
        fg_text_lit(text, " calls not traced so far: the shadow stack was full");
        break;
    }
    case FG_EVENT_print: {
        const struct fg_wire_print *print = fg_event_print(event);
        if (!print)
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, NULL);
        put_message(text, (const char *)print->buf, event->size - sizeof(*print));
        break;
    }
    case FG_EVENT_function: {
        const struct fg_wire_function *function = fg_event_function(event);
        if (!function)
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, NULL);
        fg_put_function(text, &plain, names, fg_function_index(function->ip));
        fg_put_caller(text, &plain, names, fg_function_index(function->parent_ip));
        break;
    }
    case FG_EVENT_kernel_stack: {
        const struct fg_wire_kernel_stack *stack = fg_event_kernel_stack(event);
        if (!stack)
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, NULL);
        fg_put_stack(text, &plain, names, event, stack);
        break;
    }
    case FG_EVENT_func_repeats: {
        struct fg_repeats_event repeats;
        if (!fg_decode_repeats(event, &repeats))
            return fg_merge_damaged(merge, event);
        begin_note(text, columns, event, depth, NULL);
        fg_put_repeats(text, &plain, names, &repeats);
        break;
    }
    default:
        return 0;
    }
    end_note(text, columns);
    return 0;
}
