/* See call_text.h. */
#include "tracedata/text/call_text.h"

#include <stdio.h>

#include "engine/ring/record.h"
#include "tracedata/base/values.h"

static const char *const colors[] = {
    [FG_COLOR_NAME] = "\x1b[36m", [FG_COLOR_COMMENT] = "\x1b[2m", [FG_COLOR_WARNING] = "\x1b[31m",
    [FG_COLOR_SLOW] = "\x1b[33m", [FG_COLOR_SLOWER] = "\x1b[31m", [FG_COLOR_SLOWEST] = "\x1b[1;31m",
};

void fg_color_begin(struct fg_text *text, const struct fg_report_style *style, enum fg_color color)
{
    if (style->color)
        fg_text_puts(text, colors[color]);
}

void fg_color_end(struct fg_text *text, const struct fg_report_style *style)
{
    if (style->color)
        fg_text_lit(text, "\x1b[0m");
}

const struct fg_label *fg_function_label(const struct fg_name_table *names, uint32_t func)
{
    static const struct fg_label unknown = {"<unknown>", 9};
    if (func < names->nr_functions)
        return &names->functions[func].name;
    return fg_is_import(names, func) ? &names->imports[func - names->nr_functions - 1] : &unknown;
}

static const struct fg_source_link *link_of(const struct fg_report_style *style, uint32_t func)
{
    return func < style->nr_links && style->links[func].address ? &style->links[func] : NULL;
}

static void link_begin(struct fg_text *text, const struct fg_source_link *link, uint32_t line)
{
    const char *at = link->address, *end = at + link->bytes;

    fg_text_lit(text, "\x1b]8;;");
    for (;;) {
        const char *gap = memchr(at, 0, (size_t)(end - at));

        fg_text_put(text, at, (size_t)((gap ? gap : end) - at));
        if (!gap)
            break;
        fg_text_u64(text, line, 0, ' ');
        at = gap + 1;
    }
    fg_text_lit(text, "\x1b\\");
}

static void link_end(struct fg_text *text)
{
    fg_text_lit(text, "\x1b]8;;\x1b\\");
}

void fg_put_function(struct fg_text *text, const struct fg_report_style *style,
                     const struct fg_name_table *names, uint32_t func)
{
    const struct fg_label *name = fg_function_label(names, func);
    const struct fg_source_link *link = link_of(style, func);

    fg_color_begin(text, style, FG_COLOR_NAME);
    if (link)
        link_begin(text, link, link->line);
    fg_text_put(text, name->text, name->bytes);
    if (link)
        link_end(text);
    fg_color_end(text, style);
}

void fg_put_calls(struct fg_text *text, uint64_t calls)
{
    char digits[20];
    unsigned count = fg_digits(calls, digits);

    for (unsigned i = 0; i < count; i++) {
        if (i && (count - i) % 3 == 0)
            fg_text_char(text, ',');
        fg_text_char(text, digits[i]);
    }
    fg_text_puts(text, calls == 1 ? " call" : " calls");
}

void fg_put_arguments(struct fg_text *text, const struct fg_name_table *names, uint32_t func,
                      const uint8_t *values, const uint8_t *end)
{
    const struct fg_function_name *function = func < names->nr_functions ? &names->functions[func] : NULL;
    struct fg_value value;
    for (uint32_t i = 0; fg_value_next(&values, end, &value); i++) {
        if (i)
            fg_text_lit(text, ", ");
        if (function && i < function->nr_arguments && value.tag != FG_VALUE_MORE)
            fg_text_put(text, function->arguments[i].text, function->arguments[i].bytes);
        fg_value_print(text, &value,
                       value.tag == FG_VALUE_WORD); /* as the kernel does: no argument is an error number */
    }
}

void fg_put_result(struct fg_text *text, const struct fg_event *exit, bool is_exception)
{
    const uint8_t *values = fg_graph_values(exit), *end = fg_event_end(exit);
    struct fg_value value;

    if (values >= end || !fg_value_next(&values, end, &value))
        return;
    if (is_exception && (value.tag == FG_VALUE_OBJECT || value.tag == FG_VALUE_SIZED))
        fg_text_escaped(text, value.text, value.text_bytes, 0);
    else
        fg_value_print(text, &value, false);
}

/* "app.main:12" */
static void put_line(struct fg_text *text, const struct fg_report_style *style,
                     const struct fg_name_table *names, uint32_t func, uint32_t line)
{
    const struct fg_label *name = fg_function_label(names, func);
    const struct fg_source_link *link = link_of(style, func);

    if (link)
        link_begin(text, link, line);
    fg_text_put(text, name->text, name->bytes);
    fg_text_char(text, ':');
    fg_text_u64(text, line, 0, ' ');
    if (link)
        link_end(text);
}

void fg_put_place(struct fg_text *text, const struct fg_report_style *style,
                  const struct fg_name_table *names, uint32_t func, uint32_t place)
{
    const struct fg_function_name *function = func < names->nr_functions ? &names->functions[func] : NULL;
    const struct fg_label *name = fg_function_label(names, func);
    if (!function || !function->size_bytes) {
        put_line(text, style, names, func, place);
        return;
    }
    const char *module = memchr(name->text, ' ', name->bytes);
    size_t symbol_bytes = module ? (size_t)(module - name->text) : name->bytes;
    fg_text_put(text, name->text, symbol_bytes);
    fg_text_char(text, '+');
    fg_text_hex(text, place);
    fg_text_char(text, '/');
    fg_text_hex(text, function->size_bytes);
    fg_text_put(text, name->text + symbol_bytes, name->bytes - symbol_bytes);
}

void fg_put_caller(struct fg_text *text, const struct fg_report_style *style,
                   const struct fg_name_table *names, const struct fg_flat_data *call)
{
    if (call->caller == FG_FUNC_UNKNOWN)
        return;
    fg_text_lit(text, " <-");
    if (!call->caller_place || !fg_report_shows(style, FG_REPORT_SYM_OFFSET)) {
        fg_put_function(text, style, names, call->caller);
        return;
    }
    fg_color_begin(text, style, FG_COLOR_NAME);
    fg_put_place(text, style, names, call->caller, call->caller_place);
    fg_color_end(text, style);
}

void fg_put_stack(struct fg_text *text, const struct fg_report_style *style,
                  const struct fg_name_table *names, const struct fg_event *event)
{
    const struct fg_stack_data *stack = fg_event_kernel_stack(event);

    fg_text_lit(text, "<stack trace>");
    for (uint32_t i = 0; i < stack->nr_callers; i++) {
        fg_text_lit(text, "\n => ");
        fg_put_function(text, style, names, stack->callers[i]);
    }
}

void fg_put_repeats(struct fg_text *text, const struct fg_report_style *style,
                    const struct fg_name_table *names, const struct fg_event *event)
{
    const struct fg_repeats_data *repeats = fg_event_func_repeats(event);

    fg_put_function(text, style, names, repeats->call.func);
    fg_put_caller(text, style, names, &repeats->call);
    fg_text_lit(text, " (repeats: ");
    fg_text_u64(text, repeats->count, 0, ' ');
    fg_text_lit(text, ", last_ts: ");
    fg_put_time(text, style, event->time_ns - repeats->last_ns, 500);
    fg_text_char(text, ')');
}

void fg_put_raw_data(struct fg_text *text, const struct fg_event *event)
{
    const struct fg_raw_data *raw = fg_event_raw_data(event);
    size_t bytes = event->size - sizeof(*raw);
    char part[16];

    fg_text_put(text, part, (size_t)snprintf(part, sizeof(part), "# %x buf:", raw->id));
    for (size_t i = 0; i < bytes; i++)
        fg_text_put(text, part, (size_t)snprintf(part, sizeof(part), " %02x", raw->bytes[i]));
}

unsigned fg_clip(const char *utf8, unsigned limit, size_t *bytes)
{
    unsigned count = 0;
    for (*bytes = 0; utf8[*bytes]; ++*bytes) {
        bool first_byte = ((unsigned char)utf8[*bytes] & 0xc0) != 0x80;
        if (first_byte && count == limit)
            break;
        count += first_byte;
    }
    return count;
}

void fg_put_time(struct fg_text *text, const struct fg_report_style *style, uint64_t time, uint64_t round_ns)
{
    uint64_t microseconds = (time + round_ns) / 1000;

    if (style->counts_time) {
        fg_text_u64(text, time, 12, ' ');
        return;
    }
    fg_text_u64(text, microseconds / 1000000, 5, ' ');
    fg_text_char(text, '.');
    fg_text_u64(text, microseconds % 1000000, 6, '0');
}

void fg_put_lost(struct fg_text *text, const struct fg_report_style *style, const struct fg_name_table *names,
                 const struct fg_event *event)
{
    const struct fg_task_name *task = &names->tasks[event->task];
    fg_color_begin(text, style, FG_COLOR_WARNING);
    if (style->layout == FG_LAYOUT_FUNCTION || (style->options & FG_REPORT_CPU)) {
        fg_text_lit(text, "CPU:");
        fg_text_u64(text, event->cpu, 0, ' ');
    } else { /* lines do not show the lane: name the task */
        fg_text_lit(text, "TASK:");
        fg_text_puts(text, task->name);
        fg_text_char(text, '-');
        fg_text_i64(text, task->tid);
    }
    fg_text_lit(text, " [LOST ");
    if (event->lost != FG_LOST_UNKNOWN) {
        fg_text_u64(text, event->lost, 0, ' ');
        fg_text_char(text, ' ');
    }
    fg_text_lit(text, "EVENTS]");
    fg_color_end(text, style);
    fg_text_char(text, '\n');
}
