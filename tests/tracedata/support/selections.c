/* See selections.h. */
#undef NDEBUG
#include "support/selections.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "tracedata/select/fold.h"
#include "tracedata/select/select.h"
#include "tracedata/text/report.h"
#include "tracedata/view/call_columns.h"
#include "tracedata/view/summary.h"

static struct fg_selection selection_of(uint32_t number, uint32_t nr_functions)
{
    struct fg_selection selection = {
        .nr_functions = nr_functions,
        .functions = calloc(nr_functions + 1, 1),
        .has_names = number & 1,
        .has_roots = number & 2,
        .longer_ns = number & 4 ? 2000 : 0,
        .max_depth = number & 8 ? 3 : 0,
        .from = number & 16 ? 1000 : 0,
        .to = number & 32 ? UINT64_C(2000000000000) : UINT64_MAX,
        .chooses_events = number & 64,
    };

    assert(selection.functions);
    for (uint32_t i = 0; i < nr_functions; i++)
        selection.functions[i] = i % 2 ? FG_SELECT_ROOT : FG_SELECT_NAMED | FG_SELECT_ROOT;
    return selection;
}

static void check_columns(const struct fg_call_columns *columns, const struct fg_name_table *names)
{
    for (size_t i = 0; i < columns->n; i++)
        assert(columns->id[i] && columns->function[i] <= names->nr_functions &&
               columns->task[i] < names->nr_tasks && columns->ended[i] <= FG_CALL_close &&
               columns->arguments.offsets[i] <= columns->arguments.offsets[i + 1] &&
               columns->result.offsets[i] <= columns->result.offsets[i + 1]);
    if (columns->n)
        assert((size_t)columns->arguments.offsets[columns->n] == columns->arguments.text.bytes);
}

static int read_calls(struct fg_merge *merge)
{
    struct fg_call_reader *calls = NULL;
    int result = fg_call_reader_new(merge, true, &calls) == 0 ? 1 : -ENOMEM;

    while (result == 1) {
        struct fg_call_columns columns = {0};

        result = fg_call_reader_fill(calls, &columns, 100);
        assert(result < 1 || columns.n >= 100 || columns.arguments.text.bytes || columns.result.text.bytes);
        check_columns(&columns, merge->names);
        fg_call_columns_free(&columns);
    }
    fg_call_reader_free(calls);
    return result;
}

int read_selected_calls(struct fg_trace_file *file, struct fg_name_table *names, uint32_t number)
{
    struct fg_selection selection = selection_of(number, names->nr_functions);
    struct fg_select *select = NULL;
    struct fg_merge merge;
    int result;

    if (number)
        assert(fg_select_new(&selection, file, &select) == 0);
    result = fg_merge_open_selected(&merge, file, names, select ? fg_select_stage(select) : NULL);
    if (result == 0)
        result = read_calls(&merge);
    assert(result == 0 || (result == -EINVAL && merge.reason[0]) || result == -ENOMEM);
    fg_merge_close(&merge);
    fg_select_free(select);
    fg_selection_free(&selection);
    return result;
}

/* ---- imports */

static int sum_up(const struct fg_trace_file *file, struct fg_name_table *names, struct fg_merge_stage *stage)
{
    struct fg_summary *summary = NULL;
    struct fg_merge merge;
    int result = fg_merge_open_selected(&merge, file, names, stage);

    if (result == 0) {
        assert(fg_summary_new(&merge, &summary) == 0 && fg_summary_grow_tree(summary, FG_TREE_BY_TASK) == 0);
        while ((result = fg_summary_run(summary, 100)) == 1)
            ;
    }
    fg_summary_free(summary);
    fg_merge_close(&merge);
    return result;
}

static int print(const struct fg_trace_file *file, struct fg_name_table *names, struct fg_merge_stage *stage)
{
    struct fg_report_style *styles = calloc(file->nr_buffers, sizeof(*styles));
    struct fg_report *report = NULL;
    struct fg_text text = {0};
    struct fg_merge merge;
    int result = fg_merge_open_selected(&merge, file, names, stage);

    for (uint32_t i = 0; i < file->nr_buffers; i++)
        styles[i].layout = FG_LAYOUT_FUNCTION_GRAPH;
    if (result == 0) {
        assert(fg_report_new(styles, file->nr_buffers, 0, &merge, &report) == 0);
        while ((result = fg_report_next(report, &text, 1000)) == 1)
            ;
    }
    fg_report_free(report);
    fg_text_free(&text);
    fg_merge_close(&merge);
    free(styles);
    return result;
}

static void check(int result)
{
    assert(result == 0 || result == -EINVAL || result == -ENOMEM);
}

void read_folded(struct fg_trace_file *file, struct fg_name_table *names, uint32_t number)
{
    struct fg_fold_rules rules = {.nr_functions = names->nr_functions, .names = names};
    uint8_t *marks = calloc(names->nr_functions + 1, 1);
    struct fg_fold *fold = NULL;

    assert(marks);
    for (uint32_t i = 0; i < names->nr_functions; i++)
        marks[i] = (uint8_t[]){0, FG_FOLD_MACHINERY | FG_FOLD_NAMES, FG_FOLD_OWN}[(i + number) % 3];
    rules.functions = marks;
    assert(fg_fold_new(&rules, file, &fold) == 0);
    check(sum_up(file, names, fg_fold_stage(fold)));
    fg_fold_free(fold);
    assert(fg_fold_new(&rules, file, &fold) == 0);
    check(print(file, names, fg_fold_stage(fold)));
    fg_fold_free(fold);
    free(marks);
}
