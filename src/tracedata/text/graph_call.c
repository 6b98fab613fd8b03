/* See graph_call.h. */
#include "tracedata/text/graph_call.h"

#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/base/values.h"
#include "tracedata/text/call_text.h"

/* A comment, which its first part begins. Blanks separate the parts. */
struct comment {
    const struct fg_graph_columns *columns;
    struct fg_text *text;
    bool has_begun;
};

static void comment_part(struct comment *comment, enum fg_color color)
{
    if (comment->has_begun) {
        fg_text_char(comment->text, ' ');
        return;
    }
    comment->has_begun = true;
    fg_color_begin(comment->text, comment->columns->style, color);
    fg_text_lit(comment->text, " /* ");
}

static void comment_end(struct comment *comment)
{
    if (!comment->has_begun)
        return;
    fg_text_lit(comment->text, " */");
    fg_color_end(comment->text, comment->columns->style);
}

static void put_exception(struct fg_text *text, const struct fg_value *value)
{
    fg_text_char(text, ' ');
    if (value->tag == FG_VALUE_OBJECT || value->tag == FG_VALUE_SIZED) /* the type is enough */
        fg_text_escaped(text, value->text, value->text_bytes, 0);
    else
        fg_value_print(text, value, false);
}

/* How a stretch of a call ended. */
struct outcome {
    uint32_t kind; /* enum fg_exit_kind */
    bool has_value;
    bool shows_result;
    struct fg_value value;
};

static struct outcome outcome_of(const struct fg_graph_columns *columns, const struct fg_graph_event *exit)
{
    struct outcome outcome = {.kind = exit->kind};
    const uint8_t *values = exit->values;
    outcome.has_value = fg_value_next(&values, exit->values_end, &outcome.value);
    outcome.shows_result = outcome.has_value && fg_report_shows(columns->style, FG_REPORT_RETVAL) &&
                           (exit->kind == FG_EXIT_RETURN || exit->kind == FG_EXIT_SUSPEND);
    return outcome;
}

/* "ret=5", "raised ValueError", "suspended", "closed". */
static void put_outcome(struct comment *comment, const struct outcome *outcome)
{
    struct fg_text *text = comment->text;

    switch (outcome->kind) {
    case FG_EXIT_RETURN:
        break;
    case FG_EXIT_RAISE:
        comment_part(comment, FG_COLOR_WARNING);
        fg_text_lit(text, "raised");
        if (outcome->has_value)
            put_exception(text, &outcome->value);
        break;
    case FG_EXIT_SUSPEND:
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(text, "suspended");
        break;
    default:
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(text, "closed");
    }
    if (!outcome->shows_result)
        return;
    comment_part(comment, FG_COLOR_COMMENT);
    fg_text_lit(text, "ret=");
    fg_value_print(text, &outcome->value, fg_report_shows(comment->columns->style, FG_REPORT_RETVAL_HEX));
}

/* "<-app.main:12", "resumed". */
static void put_origin(struct comment *comment, const struct fg_graph_event *entry)
{
    if (entry->caller != FG_FUNC_UNKNOWN && fg_report_shows(comment->columns->style, FG_REPORT_RETADDR)) {
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(comment->text, "<-");
        fg_put_place(comment->text, comment->columns->style, comment->columns->names, entry->caller,
                     entry->caller_place);
    }
    if (entry->kind == FG_ENTRY_RESUME) {
        comment_part(comment, FG_COLOR_COMMENT);
        fg_text_lit(comment->text, "resumed");
    }
}

/* "f(n=3)", "import json" */
static void put_call(struct fg_text *text, const struct fg_graph_columns *columns,
                     const struct fg_graph_event *entry)
{
    fg_text_fill(text, ' ', 2 * (size_t)entry->depth);
    fg_put_function(text, columns->style, columns->names, entry->func);
    if (fg_is_import(columns->names, entry->func))
        return;
    fg_text_char(text, '(');
    if (fg_report_shows(columns->style, FG_REPORT_ARGS))
        fg_put_arguments(text, columns->names, entry->func, entry->values, entry->values_end);
    fg_text_char(text, ')');
}

/* "1,234 calls", at the end of an import. */
static void put_folded(struct comment *comment, uint32_t func, uint64_t calls)
{
    if (!fg_is_import(comment->columns->names, func))
        return;
    comment_part(comment, FG_COLOR_COMMENT);
    fg_put_calls(comment->text, calls);
}

/* @outcome: NULL: nothing is said of it */
static void put_leaf(struct fg_text *text, const struct fg_graph_columns *columns,
                     const struct fg_graph_event *entry, uint64_t duration_ns, uint64_t folded,
                     const struct outcome *outcome)
{
    struct comment comment = {.columns = columns, .text = text};

    fg_graph_put_duration(text, columns, duration_ns);
    put_call(text, columns, entry);
    fg_text_char(text, ';');
    put_origin(&comment, entry);
    put_folded(&comment, entry->func, folded);
    if (outcome)
        put_outcome(&comment, outcome);
    comment_end(&comment);
    fg_text_char(text, '\n');
}

void fg_graph_put_leaf(struct fg_text *text, const struct fg_graph_columns *columns,
                       const struct fg_graph_event *entry, const struct fg_event *end,
                       const struct fg_graph_event *exit)
{
    const struct outcome outcome = outcome_of(columns, exit);

    put_leaf(text, columns, entry, fg_duration_ns(exit), fg_event_folded(end).calls + 1, &outcome);
}

void fg_graph_put_leaves(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_graph_event *entry, uint64_t duration_ns, uint64_t calls)
{
    put_leaf(text, columns, entry, duration_ns, calls, NULL);
}

void fg_graph_put_nested(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_graph_event *entry)
{
    struct comment comment = {.columns = columns, .text = text};
    fg_graph_put_no_duration(text, columns);
    put_call(text, columns, entry);
    fg_text_lit(text, " {");
    put_origin(&comment, entry);
    comment_end(&comment);
    fg_text_char(text, '\n');
}

void fg_graph_put_end(struct fg_text *text, const struct fg_graph_columns *columns,
                      const struct fg_event *event, const struct fg_graph_event *exit, bool has_beginning)
{
    struct comment comment = {.columns = columns, .text = text};
    const struct outcome outcome = outcome_of(columns, exit);

    fg_graph_put_duration(text, columns, fg_duration_ns(exit));
    fg_text_fill(text, ' ', 2 * (size_t)exit->depth);
    fg_text_char(text, '}');
    if (!has_beginning || fg_report_shows(columns->style, FG_REPORT_TAIL) || outcome.shows_result) {
        const struct fg_label *name = fg_function_label(columns->names, exit->func);
        comment_part(&comment, FG_COLOR_COMMENT);
        fg_text_put(text, name->text, name->bytes);
    }
    put_folded(&comment, exit->func, fg_event_folded(event).calls + 1); /* the outermost one, too */
    put_outcome(&comment, &outcome);
    comment_end(&comment);
    fg_text_char(text, '\n');
}
