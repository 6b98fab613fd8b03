/* See function_text.h. */
#include "tracedata/text/function_text.h"

#include "tracedata/text/call_text.h"
#include "tracedata/text/event_text.h"

void fg_function_text_header(struct fg_text *text, const struct fg_report_style *style, uint32_t nr_cpus)
{
    fg_text_lit(text, "# tracer: function\n#\n# entries-in-buffer/entries-written: ");
    fg_text_u64(text, style->nr_events, 0, ' ');
    fg_text_char(text, '/');
    fg_text_u64(text, style->nr_events + style->nr_lost, 0, ' ');
    fg_text_lit(text, "   #P:");
    fg_text_u64(text, nr_cpus, 0, ' ');
    fg_text_lit(text, "\n#\n"
                      "#           TASK-PID     CPU#     TIMESTAMP  FUNCTION\n"
                      "#              | |         |         |         |\n");
}

/* "            work-69      [000]     5.473396: " */
static void put_context(struct fg_text *text, const struct fg_report_style *style,
                        const struct fg_name_table *names, const struct fg_event *event)
{
    const struct fg_task_name *task = &names->tasks[event->task];
    size_t name_bytes, start;
    fg_text_fill(text, ' ', 16 - fg_clip(task->name, 16, &name_bytes));
    fg_text_put(text, task->name, name_bytes);
    fg_text_char(text, '-');
    start = text->bytes;
    fg_text_i64(text, task->tid);
    if (text->bytes - start < 7)
        fg_text_fill(text, ' ', 7 - (text->bytes - start));
    fg_text_lit(text, " [");
    fg_text_u64(text, event->cpu, 3, '0');
    fg_text_lit(text, "]  ");
    fg_put_time(text, style, event->time_ns, 500); /* rounded: the kernel does so in this layout only */
    fg_text_lit(text, ": ");
}

static void put_comment(struct fg_text *text, const struct fg_report_style *style, const char *before,
                        uint64_t number, const char *after)
{
    fg_color_begin(text, style, FG_COLOR_COMMENT);
    fg_text_puts(text, before);
    fg_text_u64(text, number, 0, ' ');
    fg_text_puts(text, after);
    fg_color_end(text, style);
}

static void put_function(struct fg_text *text, const struct fg_report_style *style,
                         const struct fg_name_table *names, const struct fg_event *event)
{
    const struct fg_flat_data *call = fg_event_function(event);
    const uint8_t *values = (const uint8_t *)(call + 1), *end = fg_event_end(event);

    fg_put_function(text, style, names, call->func);
    if (fg_report_shows(style, FG_REPORT_ARGS) && values < end && *values) {
        fg_text_char(text, '(');
        fg_put_arguments(text, names, call->func, values, end);
        fg_text_char(text, ')');
    }
    fg_put_caller(text, style, names, call);
}

/* "tracing_mark_write: text", or the name of the function that wrote the text. */
static void put_print(struct fg_text *text, const struct fg_report_style *style,
                      const struct fg_name_table *names, const struct fg_event *event)
{
    const struct fg_print_data *print = fg_event_print(event);

    if (print->func != FG_FUNC_UNKNOWN)
        fg_put_function(text, style, names, print->func);
    else
        fg_text_lit(text, FG_MARK_NAME);
    fg_text_lit(text, ": ");
    fg_text_escaped(text, print->text, fg_print_bytes(event), 0);
}

int fg_function_text_event(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                           const struct fg_event *event)
{
    const struct fg_name_table *names = merge->names;
    const struct fg_event_type *type;

    if (event->lost)
        fg_put_lost(text, style, names, event);
    if (!fg_event_is_whole(event))
        return fg_merge_damaged(merge, event);
    switch (event->type) {
    case FG_EVENT_function:
        put_context(text, style, names, event);
        put_function(text, style, names, event);
        break;
    case FG_EVENT_func_repeats:
        put_context(text, style, names, event);
        fg_put_repeats(text, style, names, event);
        break;
    case FG_EVENT_kernel_stack:
        put_context(text, style, names, event);
        fg_put_stack(text, style, names, event);
        break;
    case FG_EVENT_print:
        put_context(text, style, names, event);
        put_print(text, style, names, event);
        break;
    case FG_EVENT_raw_data:
        put_context(text, style, names, event);
        fg_put_raw_data(text, event);
        break;
    case FG_EVENT_recorder_wait:
        put_context(text, style, names, event);
        put_comment(text, style, "/* waited ", fg_event_recorder_wait(event)->duration_ns / 1000,
                    " us for the recorder */");
        break;
    case FG_EVENT_overrun:
        put_context(text, style, names, event);
        put_comment(text, style, "/* ", fg_event_overrun(event)->total,
                    " calls not traced so far: the shadow stack was full */");
        break;
    case FG_EVENT_unknown_event:
        put_context(text, style, names, event);
        fg_color_begin(text, style, FG_COLOR_COMMENT);
        fg_text_lit(text, "/* " FG_UNKNOWN_EVENT_TEXT " */");
        fg_color_end(text, style);
        break;
    default:
        type = fg_event_table_find(fg_trace_file_events(merge->file), event->type);
        if (!type)
            return 0; /* of a later version */
        put_context(text, style, names, event);
        fg_put_event(text, names, type, event);
    }
    fg_text_char(text, '\n');
    return 0;
}
