/* See summary.h. */
#include "tracedata/view/summary.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/view/summary_calls.h"

static bool has_native(const struct fg_name_table *names)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < names->nr_functions; i++)
        n += names->functions[i].size_bytes != 0;
    return n && n < names->nr_functions;
}

int fg_summary_new(struct fg_merge *merge, struct fg_summary **summary)
{
    uint32_t nr_functions = merge->names->nr_functions;
    struct fg_summary *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    fg_call_assembler_init(&made->calls, &fg_summary_consumer, merge->names, merge->file->unit == FG_UNIT_NS);
    made->merge = merge;
    made->nr_functions = nr_functions;
    made->has_native = has_native(merge->names);
    made->functions = calloc(FG_SUMMARY_ROWS(nr_functions), sizeof(*made->functions));
    made->nr_events = fg_trace_file_events(merge->file)->nr_types;
    made->events = calloc(made->nr_events + 1, sizeof(*made->events));
    made->lanes.nr_functions = nr_functions;
    if (!made->functions || !made->events) {
        fg_summary_free(made);
        return -ENOMEM;
    }
    for (size_t i = 0; i < FG_SUMMARY_ROWS(nr_functions); i++)
        made->functions[i].min_ns = UINT64_MAX;
    *summary = made;
    return 0;
}

void fg_summary_free(struct fg_summary *summary)
{
    if (!summary)
        return;
    fg_call_assembler_free(&summary->calls);
    fg_summary_lanes_free(&summary->lanes);
    free(summary->functions);
    free(summary->events);
    fg_call_tree_free(summary->tree);
    free(summary);
}

int fg_summary_grow_tree(struct fg_summary *summary, enum fg_tree_groups groups)
{
    summary->groups = groups;
    summary->tree = fg_call_tree_new();
    return summary->tree ? 0 : -ENOMEM;
}

const struct fg_call_tree *fg_summary_tree(const struct fg_summary *summary)
{
    return summary->tree;
}

const struct fg_function_summary *fg_summary_functions(const struct fg_summary *summary)
{
    return summary->functions;
}

const uint64_t *fg_summary_events(const struct fg_summary *summary, size_t *n)
{
    *n = summary->nr_events;
    return summary->events;
}
