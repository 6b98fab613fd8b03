/* The stream of a report: takes events off the merge and has each printed in the layout asked for. */
#include "report.h"

#include <errno.h>
#include <stdlib.h>

#include "function_text.h"
#include "graph_text.h"

struct fg_report {
    struct fg_report_style style;
    struct fg_merge *merge;
    struct fg_graph_text graph;
    bool has_begun;
};

int fg_report_new(const struct fg_report_style *style, struct fg_merge *merge, struct fg_report **report)
{
    struct fg_report *made = calloc(1, sizeof(*made));
    if (!made)
        return -ENOMEM;
    made->style = *style;
    made->merge = merge;
    int error = fg_graph_text_init(&made->graph, &made->style, merge);
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
    fg_graph_text_free(&report->graph);
    free(report);
}

static void put_header(struct fg_report *report, struct fg_text *text)
{
    if (report->style.layout == FG_LAYOUT_FUNCTION)
        fg_function_text_header(text, &report->style, report->merge->file->nr_lanes);
    else
        fg_graph_text_header(&report->graph, text);
}

static int put_event(struct fg_report *report, struct fg_text *text, const struct fg_event *event)
{
    if (report->style.layout == FG_LAYOUT_FUNCTION)
        return fg_function_text_event(text, &report->style, report->merge, event);
    return fg_graph_text_event(&report->graph, text, event);
}

int fg_report_next(struct fg_report *report, struct fg_text *text, size_t bytes)
{
    text->bytes = 0;
    if (!report->has_begun) {
        put_header(report, text);
        report->has_begun = true;
    }
    while (text->bytes < bytes) {
        struct fg_event event;
        int result = fg_merge_next(report->merge, &event);
        if (result <= 0)
            return result;
        int error = put_event(report, text, &event);
        if (error)
            return error;
        if (text->failed)
            return -ENOMEM;
    }
    return 1;
}
