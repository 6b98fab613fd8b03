/* Parts of a line that both layouts have: function names, arguments, times, losses, colour. */
#ifndef FG_CALL_TEXT_H
#define FG_CALL_TEXT_H

#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/name_table.h"
#include "tracedata/text/report_style.h"

enum fg_color {
    FG_COLOR_NAME,
    FG_COLOR_COMMENT,
    FG_COLOR_WARNING,
    FG_COLOR_SLOW,
    FG_COLOR_SLOWER,
    FG_COLOR_SLOWEST
};

/* They do nothing if the style has no colour. */
void fg_color_begin(struct fg_text *text, const struct fg_report_style *style, enum fg_color color);
void fg_color_end(struct fg_text *text, const struct fg_report_style *style);

/* `func` is an index, also of an import, or FG_FUNC_UNKNOWN, here and below. */
const struct fg_label *fg_function_label(const struct fg_name_table *names, uint32_t func);
void fg_put_function(struct fg_text *text, const struct fg_report_style *style,
                     const struct fg_name_table *names, uint32_t func);
/* "1,234 calls" */
void fg_put_calls(struct fg_text *text, uint64_t calls);
/* "n=3, s='abc'" */
void fg_put_arguments(struct fg_text *text, const struct fg_name_table *names, uint32_t func,
                      const uint8_t *values, const uint8_t *end);
/* What the end of a call has: its result, or the type of the exception. */
void fg_put_result(struct fg_text *text, const struct fg_event *exit, bool is_exception);
/* "app.main:12"; of native code "symbol+0x4f/0xd0 [module]", as the kernel prints it. */
void fg_put_place(struct fg_text *text, const struct fg_report_style *style,
                  const struct fg_name_table *names, uint32_t func, uint32_t place);
/* " <-app.main", or " <-app.main:12"; nothing if the caller of the call is unknown. */
void fg_put_caller(struct fg_text *text, const struct fg_report_style *style,
                   const struct fg_name_table *names, const struct fg_flat_data *call);
/* "<stack trace>" and lines " => app.main", without the last newline. */
void fg_put_stack(struct fg_text *text, const struct fg_report_style *style,
                  const struct fg_name_table *names, const struct fg_event *event);
/* "app.parse <-app.main (repeats: 3, last_ts:     5.473396)" */
void fg_put_repeats(struct fg_text *text, const struct fg_report_style *style,
                    const struct fg_name_table *names, const struct fg_event *event);
/* "# 2f buf: 00 ff": the number of raw data in base 16, and its bytes. */
void fg_put_raw_data(struct fg_text *text, const struct fg_event *event);
/* The number of characters in `utf8`, at most `limit`; *bytes is their size. */
unsigned fg_clip(const char *utf8, unsigned limit, size_t *bytes);
/* "    5.473396", or a number in the clock's own unit. @round_ns is added before the microseconds are cut
 * off. */
void fg_put_time(struct fg_text *text, const struct fg_report_style *style, uint64_t time, uint64_t round_ns);
/* "CPU:0 [LOST 813 EVENTS]" and a newline. */
void fg_put_lost(struct fg_text *text, const struct fg_report_style *style, const struct fg_name_table *names,
                 const struct fg_event *event);

#endif
