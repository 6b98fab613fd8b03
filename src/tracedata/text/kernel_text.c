/* See kernel_text.h. The layout was found out by comparing with trace-cmd 3.1.6, byte by byte. In one case
 * this prints more: a call's end before which events were lost is not folded into its beginning, so that the
 * loss is shown. */
#include "tracedata/text/kernel_text.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/text/call_text.h"

#define COMM_COLUMNS 16
#define TID_COLUMNS 5
#define NAME_COLUMNS 22 /* of an event's name, with a colon */
#define UNKNOWN_EVENT "[UNKNOWN EVENT]"

void fg_kernel_holes_free(struct fg_kernel_holes *holes)
{
    free(holes->holes);
    fg_text_free(&holes->records);
    *holes = (struct fg_kernel_holes){0};
}

void fg_kernel_text_header(struct fg_text *text, const struct fg_trace_file *file)
{
    fg_text_lit(text, "cpus=");
    fg_text_u64(text, file->head.nr_cpus ? file->head.nr_cpus : file->nr_cpus, 0, ' ');
    fg_text_char(text, '\n');
}

static void put_time(struct fg_text *text, const struct fg_trace_file *file, uint64_t time)
{
    uint64_t us;

    if (!file->head.time.has_units) {
        fg_text_u64(text, time, 12, ' ');
        return;
    }
    us = time / 1000 + (time % 1000 >= 500);
    fg_text_char(text, ' ');
    fg_text_u64(text, us / 1000000, 5, ' ');
    fg_text_char(text, '.');
    fg_text_u64(text, us % 1000000, 6, '0');
}

/* "            work-63    [001]     3.353902: funcgraph_entry:      " */
static void put_context(struct fg_text *text, const struct fg_merge *merge, const struct fg_event *event,
                        const char *name)
{
    const char *comm = merge->names->tasks[event->task].name;
    size_t bytes = strlen(comm), start;

    if (bytes < COMM_COLUMNS)
        fg_text_fill(text, ' ', COMM_COLUMNS - bytes);
    fg_text_put(text, comm, bytes);
    fg_text_char(text, '-');
    start = text->bytes;
    fg_text_i64(text, event->tid);
    if (text->bytes - start < TID_COLUMNS)
        fg_text_fill(text, ' ', TID_COLUMNS - (text->bytes - start));
    fg_text_lit(text, " [");
    fg_text_u64(text, event->cpu, 3, '0');
    fg_text_char(text, ']');
    put_time(text, merge->file, event->time_ns);
    fg_text_lit(text, ": ");
    bytes = strlen(name);
    fg_text_put(text, name, bytes);
    fg_text_lit(text, ": ");
    if (bytes + 2 < NAME_COLUMNS)
        fg_text_fill(text, ' ', NAME_COLUMNS - 2 - bytes);
}

/* "CPU:1 [12 EVENTS DROPPED]" */
static void put_lost(struct fg_text *text, const struct fg_event *event)
{
    fg_text_lit(text, "CPU:");
    fg_text_u64(text, event->cpu, 0, ' ');
    fg_text_lit(text, " [");
    if (event->lost != FG_LOST_UNKNOWN) {
        fg_text_u64(text, event->lost, 0, ' ');
        fg_text_char(text, ' ');
    }
    fg_text_lit(text, "EVENTS DROPPED]\n");
}

/* A function's symbol, without its module. One without a symbol has its address as its name: "0x1234". */
static void put_symbol(struct fg_text *text, const struct fg_name_table *names, uint32_t func,
                       bool shows_address_as_hex)
{
    const struct fg_label *name = fg_function_label(names, func);
    const char *blank = memchr(name->text, ' ', name->bytes);
    size_t bytes = blank ? (size_t)(blank - name->text) : name->bytes;
    size_t skipped = !shows_address_as_hex && bytes > 2 && memcmp(name->text, "0x", 2) == 0 ? 2 : 0;

    fg_text_put(text, name->text + skipped, bytes - skipped);
}

/* "+ 12.038 us  |  " */
static void put_duration(struct fg_text *text, uint64_t duration_ns)
{
    static const struct {
        uint64_t above_ns;
        const char *mark;
    } marks[] = {{1000000000, "$ "}, {1000000, "# "}, {100000, "! "}, {10000, "+ "}};
    const char *mark = "  ";
    size_t start, columns;

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]) && duration_ns != UINT64_MAX; i++) {
        if (duration_ns > marks[i].above_ns) {
            mark = marks[i].mark;
            break;
        }
    }
    fg_text_puts(text, mark);
    start = text->bytes;
    fg_text_u64(text, duration_ns / 1000, 0, ' ');
    if (text->bytes - start < 7) {
        fg_text_char(text, '.');
        fg_text_u64(text, duration_ns % 1000, 3, '0');
    }
    columns = text->bytes - start;
    fg_text_lit(text, " us ");
    if (columns < 7)
        fg_text_fill(text, ' ', 7 - columns);
    fg_text_lit(text, "|  ");
}

static bool is_leaf(const struct fg_event *event, const struct fg_graph_event *entry,
                    const struct fg_event *next, struct fg_graph_event *exit)
{
    return next && next->type == FG_EVENT_funcgraph_exit && next->tid == event->tid && !next->lost &&
           fg_decode_graph(next, exit) && exit->func == entry->func;
}

/* trace-cmd 3.1.6 does not know the entry with a return address, and prints it by its format. */
static void put_retaddr_entry(struct fg_text *text, struct fg_merge *merge, const struct fg_event *event,
                              const struct fg_graph_event *entry)
{
    put_context(text, merge, event, "fgraph_retaddr_entry");
    fg_text_lit(text, "--> ");
    put_symbol(text, merge->names, entry->func, true);
    fg_text_lit(text, " (");
    fg_text_u64(text, entry->depth, 0, ' ');
    fg_text_lit(text, ") <- ");
    put_symbol(text, merge->names, entry->caller, true);
    fg_text_char(text, '\n');
}

static int put_entry(struct fg_text *text, struct fg_merge *merge, const struct fg_event *event)
{
    struct fg_graph_event entry, exit;

    if (!fg_decode_graph(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(merge, event);
    if (entry.caller != FG_FUNC_UNKNOWN) {
        put_retaddr_entry(text, merge, event, &entry);
        return 0;
    }
    put_context(text, merge, event, "funcgraph_entry");
    /* Times that run backwards give a huge duration, as in trace-cmd. */
    if (is_leaf(event, &entry, fg_merge_peek_buffer(merge, event->buffer), &exit)) {
        put_duration(text, exit.rettime_ns - exit.calltime_ns);
        fg_text_fill(text, ' ', 2 * (size_t)entry.depth);
        put_symbol(text, merge->names, entry.func, false);
        fg_text_lit(text, "();\n");
        fg_merge_skip_peeked(merge);
    } else {
        fg_text_lit(text, "             |  ");
        fg_text_fill(text, ' ', 2 * (size_t)entry.depth);
        put_symbol(text, merge->names, entry.func, false);
        fg_text_lit(text, "() {\n");
    }
    return 0;
}

static int put_exit(struct fg_text *text, struct fg_merge *merge, const struct fg_event *event)
{
    struct fg_graph_event exit;

    if (!fg_decode_graph(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(merge, event);
    put_context(text, merge, event, "funcgraph_exit");
    put_duration(text, exit.rettime_ns - exit.calltime_ns);
    fg_text_fill(text, ' ', 2 * (size_t)exit.depth);
    fg_text_lit(text, "}\n");
    return 0;
}

/* The function tracer's event, by the format that all kernels have for it. */
static int put_function(struct fg_text *text, struct fg_merge *merge, const struct fg_event *event)
{
    const struct fg_flat_data *call = fg_event_function(event);

    if (!fg_event_is_whole(event))
        return fg_merge_damaged(merge, event);
    put_context(text, merge, event, "function");
    fg_text_char(text, ' ');
    put_symbol(text, merge->names, call->func, true);
    fg_text_lit(text, " <-- ");
    put_symbol(text, merge->names, call->caller, true);
    fg_text_char(text, '\n');
    return 0;
}

static int put_other(struct fg_text *text, struct fg_merge *merge, const struct fg_event *event,
                     struct fg_kernel_holes *holes)
{
    uint32_t id = event->type - FG_EVENT_KERNEL;
    const struct fg_kernel_event *described = fg_kernel_event(merge->file->kernel, id);

    put_context(text, merge, event, described ? described->name : UNKNOWN_EVENT);
    if (fg_array_reserve(&holes->holes, &holes->capacity, holes->n + 1) < 0)
        return -ENOMEM;
    holes->holes[holes->n++] = (struct fg_kernel_hole){text->bytes, id, holes->records.bytes, event->size};
    fg_text_put(&holes->records, (const char *)event->data, event->size);
    fg_text_char(text, '\n');
    return holes->records.failed ? -ENOMEM : 0;
}

int fg_kernel_text_event(struct fg_text *text, const struct fg_report_style *style, struct fg_merge *merge,
                         const struct fg_event *event, struct fg_kernel_holes *holes)
{
    if (style->prefix)
        fg_text_puts(text, style->prefix);
    if (event->lost)
        put_lost(text, event);
    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
        return put_entry(text, merge, event);
    case FG_EVENT_funcgraph_exit:
        return put_exit(text, merge, event);
    case FG_EVENT_function:
        return put_function(text, merge, event);
    default:
        return put_other(text, merge, event, holes);
    }
}
