/* Lines of the `function` layout. */
#include "tracedata/view/function_text.h"

#include "tracedata/view/call_text.h"

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
static void put_context(struct fg_text *text, const struct fg_name_table *names, const struct fg_event *event)
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
    fg_put_seconds(text, (event->time_ns + 500) / 1000); /* rounded, as the kernel does here and only here */
    fg_text_lit(text, ": ");
}

static void put_comment(struct fg_text *text, const struct fg_report_style *style, const char *before,
                        uint64_t number, const char *behind)
{
    fg_color_begin(text, style, FG_COLOR_COMMENT);
    fg_text_puts(text, before);
    fg_text_u64(text, number, 0, ' ');
    fg_text_puts(text, behind);
    fg_color_end(text, style);
    fg_text_char(text, '\n');
}

static int put_function(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                        const struct fg_event *event)
{
    struct fg_function_event function;
    if (!fg_decode_function(event, &function))
        return fg_merge_damaged(merge, event, "a function record is too short");
    put_context(text, merge->names, event);
    fg_put_function(text, style, merge->names, function.func);
    if ((style->options & FG_REPORT_ARGS) && function.values < function.values_end && *function.values) {
        fg_text_char(text, '(');
        fg_put_arguments(text, merge->names, function.func, function.values, function.values_end);
        fg_text_char(text, ')');
    }
    fg_put_caller(text, style, merge->names, function.caller);
    fg_text_char(text, '\n');
    return 0;
}

static int put_repeats(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                       const struct fg_event *event)
{
    struct fg_repeats_event repeats;
    if (!fg_decode_repeats(event, &repeats))
        return fg_merge_damaged(merge, event, "a func_repeats record is too short");
    put_context(text, merge->names, event);
    fg_put_repeats(text, style, merge->names, &repeats);
    fg_text_char(text, '\n');
    return 0;
}

/* "tracing_mark_write: text", or with the function that put it in. */
static int put_print(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                     const struct fg_event *event)
{
    const uint32_t offset = fg_offset_print("buf[]");
    uint64_t ip;
    if (event->size < offset || !fg_decode_number(event, fg_offset_print("ip"), &ip))
        return fg_merge_damaged(merge, event, "a print record is too short");
    const char *message = (const char *)event->data + offset;
    put_context(text, merge->names, event);
    if (ip >= FG_WIRE_FUNC_BASE && ip <= UINT32_MAX)
        fg_put_function(text, style, merge->names, fg_function_index((uint32_t)ip));
    else
        fg_text_lit(text, FG_WIRE_MARK_NAME);
    fg_text_lit(text, ": ");
    fg_text_escaped(text, message, strnlen(message, event->size - offset), 0);
    fg_text_char(text, '\n');
    return 0;
}

int fg_function_text_event(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                           const struct fg_event *event)
{
    uint64_t number;
    if (event->lost)
        fg_put_lost(text, style, merge->names, event);
    switch (event->type) {
    case FG_EVENT_function:
        return put_function(text, style, merge, event);
    case FG_EVENT_func_repeats:
        return put_repeats(text, style, merge, event);
    case FG_EVENT_kernel_stack:
        put_context(text, merge->names, event);
        fg_put_stack(text, style, merge->names, event);
        fg_text_char(text, '\n');
        return 0;
    case FG_EVENT_print:
        return put_print(text, style, merge, event);
    case FG_EVENT_recorder_wait:
        if (!fg_decode_number(event, fg_offset_recorder_wait("duration_ns"), &number))
            return fg_merge_damaged(merge, event, "a recorder_wait record is too short");
        put_context(text, merge->names, event);
        put_comment(text, style, "/* waited ", number / 1000, " us for the recorder */");
        return 0;
    case FG_EVENT_overrun:
        if (!fg_decode_number(event, fg_offset_overrun("total"), &number))
            return fg_merge_damaged(merge, event, "an overrun record is too short");
        put_context(text, merge->names, event);
        put_comment(text, style, "/* ", number, " calls not traced so far: the shadow stack was full */");
        return 0;
    default:
        return 0;
    }
}
