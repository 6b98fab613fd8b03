/* See graph_columns.h. */
#include "tracedata/text/graph_columns.h"

#include "tracedata/text/call_text.h"

#define DURATION_COLUMNS 14
#define TASK_COLUMNS 14
#define TASK_NAME_COLUMNS 7

void fg_graph_columns_init(struct fg_graph_columns *columns, const struct fg_report_style *style,
                           const struct fg_name_table *names, uint32_t nr_lanes)
{
    char digits[20];
    *columns = (struct fg_graph_columns){
        .style = style,
        .names = names,
        .lane_digits = fg_digits(nr_lanes ? nr_lanes - 1 : 0, digits),
    };
}

void fg_graph_put_header(struct fg_text *text, const struct fg_graph_columns *columns)
{
    const struct fg_report_style *style = columns->style;
    fg_text_lit(text, "# tracer: function_graph\n#\n#");
    if (fg_report_shows(style, FG_REPORT_ABSTIME))
        fg_text_lit(text, "     TIME       ");
    if (fg_report_shows(style, FG_REPORT_CPU))
        fg_text_lit(text, " CPU");
    if (fg_report_shows(style, FG_REPORT_PROC))
        fg_text_lit(text, "  TASK/PID       ");
    if (fg_report_shows(style, FG_REPORT_DURATION))
        fg_text_lit(text, "  DURATION   ");
    fg_text_lit(text, "               FUNCTION CALLS\n#");
    if (fg_report_shows(style, FG_REPORT_ABSTIME))
        fg_text_lit(text, "      |         ");
    if (fg_report_shows(style, FG_REPORT_CPU))
        fg_text_lit(text, " |  ");
    if (fg_report_shows(style, FG_REPORT_PROC))
        fg_text_lit(text, "   |    |        ");
    if (fg_report_shows(style, FG_REPORT_DURATION))
        fg_text_lit(text, "   |   |      ");
    fg_text_lit(text, "               |   |   |   |\n");
}

void fg_graph_put_lane(struct fg_text *text, const struct fg_graph_columns *columns, uint32_t lane)
{
    fg_text_char(text, ' ');
    fg_text_u64(text, lane, columns->lane_digits, ' ');
    fg_text_lit(text, ") ");
}

void fg_graph_put_task(struct fg_text *text, const struct fg_graph_columns *columns, uint32_t task)
{
    const struct fg_task_name *name = &columns->names->tasks[task];
    uint64_t magnitude = name->tid < 0 ? -(uint64_t)name->tid : (uint64_t)name->tid;
    char digits[20];
    size_t name_bytes;
    unsigned used = fg_clip(name->name, TASK_NAME_COLUMNS, &name_bytes) + 1 + (name->tid < 0) +
                    fg_digits(magnitude, digits);
    unsigned blanks = used < TASK_COLUMNS ? TASK_COLUMNS - used : 0;
    fg_text_fill(text, ' ', blanks / 2);
    fg_text_put(text, name->name, name_bytes);
    fg_text_char(text, '-');
    fg_text_i64(text, name->tid);
    fg_text_fill(text, ' ', blanks - blanks / 2);
}

void fg_graph_put_prefix(struct fg_text *text, const struct fg_graph_columns *columns,
                         const struct fg_event *event)
{
    if (fg_report_shows(columns->style, FG_REPORT_ABSTIME)) {
        fg_put_time(text, columns->style, event->time_ns, 0);
        fg_text_lit(text, " |  ");
    }
    if (fg_report_shows(columns->style, FG_REPORT_CPU))
        fg_graph_put_lane(text, columns, event->cpu);
    if (fg_report_shows(columns->style, FG_REPORT_PROC)) {
        fg_graph_put_task(text, columns, event->task);
        fg_text_lit(text, " | ");
    }
}

static const struct mark {
    uint64_t above_ns;
    char mark;
    int color; /* enum fg_color, or -1 */
} marks[] = {
    {1000000000, '$', FG_COLOR_SLOWEST},
    {100000000, '@', FG_COLOR_SLOWEST},
    {10000000, '*', FG_COLOR_SLOWER},
    {1000000, '#', FG_COLOR_SLOW},
    {100000, '!', -1},
    {10000, '+', -1},
    {0, ' ', -1},
};

static const struct mark *mark_of(uint64_t duration_ns)
{
    const struct mark *mark = marks;
    while (mark->above_ns && duration_ns <= mark->above_ns)
        mark++;
    return mark;
}

void fg_graph_put_no_duration(struct fg_text *text, const struct fg_graph_columns *columns)
{
    if (fg_report_shows(columns->style, FG_REPORT_DURATION)) {
        fg_text_fill(text, ' ', DURATION_COLUMNS);
        fg_text_lit(text, "|  ");
    }
}

/* "+ 12.379 us   |  ". The number has three decimals, or fewer so that it fits in eight characters with
 * its point. Whole microseconds always have all of their digits. */
void fg_graph_put_duration(struct fg_text *text, const struct fg_graph_columns *columns, uint64_t duration_ns)
{
    const struct fg_report_style *style = columns->style;
    if (!fg_report_shows(style, FG_REPORT_DURATION))
        return;
    const struct mark *mark = mark_of(duration_ns);
    char number[24];
    unsigned length = fg_digits(duration_ns / 1000, number);
    if (length < 7) {
        unsigned decimals = length < 4 ? 3 : 7 - length;
        number[length++] = '.';
        for (uint64_t unit = 100; unit > 0 && decimals > 0; unit /= 10, decimals--)
            number[length++] = (char)('0' + duration_ns / unit % 10);
    }
    if (mark->color >= 0)
        fg_color_begin(text, style, (enum fg_color)mark->color);
    fg_text_char(text, fg_report_shows(style, FG_REPORT_OVERHEAD) ? mark->mark : ' ');
    fg_text_char(text, ' ');
    fg_text_put(text, number, length);
    fg_text_lit(text, " us ");
    if (mark->color >= 0)
        fg_color_end(text, style);
    if (length < 8)
        fg_text_fill(text, ' ', 8 - length);
    fg_text_lit(text, "|  ");
}
