/* See report.h. */
#include "tracedata/text/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/text/function_text.h"
#include "tracedata/text/graph_text.h"

/* The text of one buffer. */
struct part {
    struct fg_report_style style;
    struct fg_graph_text graph;
    char *prefix;
};

struct fg_report {
    struct fg_merge *merge;
    struct part *parts;
    uint32_t nr_parts;
    uint32_t header;
    struct part *latest; /* whose event was printed last; NULL: none was */
    struct fg_text line; /* to which a prefix is added */
    struct fg_kernel_holes holes;
    bool has_begun;
};

static int part_init(struct part *part, const struct fg_report_style *style, struct fg_merge *merge)
{
    part->style = *style;
    part->style.counts_time = merge->file->unit != FG_UNIT_NS;
    if (style->prefix) {
        part->style.prefix = part->prefix = strdup(style->prefix);
        if (!part->prefix)
            return -ENOMEM;
    }
    return fg_graph_text_init(&part->graph, &part->style, merge);
}

int fg_report_new(const struct fg_report_style *styles, uint32_t nr_styles, uint32_t header,
                  struct fg_merge *merge, struct fg_report **report)
{
    struct fg_report *made = calloc(1, sizeof(*made));
    int error = 0;
    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->header = header;
    made->parts = calloc(nr_styles, sizeof(*made->parts));
    if (!made->parts)
        error = -ENOMEM;
    while (!error && made->nr_parts < nr_styles) {
        error = part_init(&made->parts[made->nr_parts], &styles[made->nr_parts], merge);
        made->nr_parts++;
    }
    if (error) {
        fg_report_free(made);
        return error;
    }
    *report = made;
    return 0;
}

void fg_report_free(struct fg_report *report)
{
    if (!report)
        return;
    for (uint32_t i = 0; i < report->nr_parts; i++) {
        fg_graph_text_free(&report->parts[i].graph);
        free(report->parts[i].prefix);
    }
    free(report->parts);
    fg_text_free(&report->line);
    fg_kernel_holes_free(&report->holes);
    free(report);
}

static void put_header(struct fg_report *report, struct fg_text *text)
{
    const struct part *part = &report->parts[report->header];
    if (part->style.layout == FG_LAYOUT_TRACE_CMD)
        fg_kernel_text_header(text, report->merge->file);
    else if (part->style.layout == FG_LAYOUT_FUNCTION)
        fg_function_text_header(text, &part->style, report->merge->file->nr_cpus);
    else
        fg_graph_put_header(text, &part->graph.columns);
}

static int put_event(struct fg_report *report, struct part *part, struct fg_text *text,
                     const struct fg_event *event)
{
    if (part->style.layout == FG_LAYOUT_FUNCTION)
        return fg_function_text_event(text, &part->style, report->merge, event);
    return fg_graph_text_event(&part->graph, text, event);
}

/* Appends `lines`, each after the prefix. An empty line stays empty. */
static void put_prefixed(struct fg_text *text, const char *prefix, const struct fg_text *lines)
{
    const char *at = lines->data, *end = at + lines->bytes;

    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        if (at != newline)
            fg_text_puts(text, prefix);
        fg_text_put(text, at, (size_t)(next - at));
        at = next;
    }
}

static int put_prefixed_event(struct fg_report *report, struct part *part, struct fg_text *text,
                              const struct fg_event *event)
{
    report->line.bytes = 0;
    int error = put_event(report, part, &report->line, event);
    if (!error && report->line.failed)
        error = -ENOMEM;
    if (!error)
        put_prefixed(text, part->prefix, &report->line);
    return error;
}

/* Prints what waits for the next event of the part that was printed last. */
static void flush(struct fg_report *report, struct fg_text *text)
{
    struct part *part = report->latest;

    if (!part)
        return;
    if (!part->prefix) {
        fg_graph_text_flush(&part->graph, text);
        return;
    }
    report->line.bytes = 0;
    fg_graph_text_flush(&part->graph, &report->line);
    put_prefixed(text, part->prefix, &report->line);
}

int fg_report_next(struct fg_report *report, struct fg_text *text, size_t bytes)
{
    text->bytes = 0;
    report->holes.n = report->holes.records.bytes = 0;
    if (!report->has_begun) {
        put_header(report, text);
        report->has_begun = true;
    }
    while (text->bytes < bytes) {
        struct fg_event event;
        int result = fg_merge_next(report->merge, &event);
        struct part *part = result > 0 ? &report->parts[event.buffer] : NULL;
        int error;
        if (report->latest != part)
            flush(report, text);
        report->latest = part;
        if (!part)
            return text->failed ? -ENOMEM : result;
        if (part->style.layout == FG_LAYOUT_TRACE_CMD)
            error = fg_kernel_text_event(text, &part->style, report->merge, &event, &report->holes);
        else if (part->prefix)
            error = put_prefixed_event(report, part, text, &event);
        else
            error = put_event(report, part, text, &event);
        if (error)
            return error;
        if (text->failed)
            return -ENOMEM;
    }
    return 1;
}

const struct fg_kernel_holes *fg_report_holes(const struct fg_report *report)
{
    return &report->holes;
}
