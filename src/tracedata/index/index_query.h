/* Questions to the index. Each takes time that depends on the answer and on the logarithm of the trace. */
#ifndef FG_INDEX_QUERY_H
#define FG_INDEX_QUERY_H

#include "tracedata/index/call_index.h"

/* X(name, C type, format of Python's struct module, meaning): a row is a span, or a cell. */
#define FG_SPAN_COLUMNS(X)                                                                                   \
    X(begin_ns, uint64_t, "Q", "when it begins; a cell: its slot does")                                      \
    X(end_ns, uint64_t, "Q", "when it ends; a cell: its slot does")                                          \
    X(busy_ns, uint64_t, "Q", "how long it took; a cell: all its spans together")                            \
    X(count, uint32_t, "I", "of spans: 1, or those of a cell")                                               \
    X(function, uint32_t, "I", "its index, or that after the last one; a cell: the dominant function")       \
    X(depth, uint32_t, "I", "how many traced calls it was made from")                                        \
    X(lane, uint32_t, "I", "the number of its lane")                                                         \
    X(ended, uint8_t, "B", "enum fg_span_end; a cell: FG_NR_SPAN_ENDS")                                      \
    X(resumed, uint8_t, "?", "it began with a resume")

#define FG_NR_SPAN_ENDS 6 /* what a cell has as its end */

struct fg_span_rows {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_SPAN_COLUMNS(X)
#undef X
};

/* Zeroed, they are empty. Makes room for one more. Return: 0 or -ENOMEM. */
int fg_span_rows_reserve(struct fg_span_rows *rows);
void fg_span_rows_free(struct fg_span_rows *rows);

/* A part of a lane, as a picture shows it: from @begin_ns to before @end_ns, which is later, on that many
 * pixels, with depths from @first_depth to @last_depth. */
struct fg_picture {
    uint32_t lane;
    uint64_t begin_ns, end_ns;
    uint32_t pixels; /* at least 1 */
    uint32_t first_depth, last_depth;
};

/* Adds what the picture has, by depth: each span that is as long as a pixel. Shorter ones are there as spans,
 * or in cells; these are no longer than a pixel if the index has such. A cell counts what begins in its
 * slot. At most some 64 rows for each pixel and depth. Return: 0 or -ENOMEM. */
int fg_index_picture(const struct fg_call_index *index, const struct fg_picture *picture,
                     struct fg_span_rows *rows);

/* The span of a lane at this depth that is in progress at a time; FG_NO_SPAN: there is none. One of no time
 * is in progress when it begins. */
uint32_t fg_index_span_at(const struct fg_call_index *index, uint32_t lane, uint32_t depth, uint64_t time_ns);

/* The spans alone, without cells. */
int fg_index_long_spans(const struct fg_call_index *index, const struct fg_picture *picture,
                        struct fg_span_rows *rows);
/* How many spans the base cells of a lane and depth have in a part, counted up to @most. */
uint64_t fg_index_count_short(const struct fg_call_index *index, uint32_t lane, uint32_t depth,
                              uint64_t begin_ns, uint64_t end_ns, uint64_t most);

/* The function's first span that begins after a time, or its last one that begins before; of those that begin
 * at one time any. @lane: UINT32_MAX: all. @raised: only those that an exception ended. */
uint32_t fg_index_next(const struct fg_call_index *index, uint32_t func, uint32_t lane, uint64_t after_ns,
                       bool raised);
uint32_t fg_index_previous(const struct fg_call_index *index, uint32_t func, uint32_t lane,
                           uint64_t before_ns, bool raised);

/* How many of the function's spans that the index has one by one, in all lanes, begin before a time. */
uint64_t fg_index_count_before(const struct fg_call_index *index, uint32_t func, uint64_t begin_ns);

/* The lane's block in which a time is, or the first one after it; nr_blocks: there is none. */
uint32_t fg_index_block_at(const struct fg_call_index *index, uint32_t lane, uint64_t time_ns);
/* The first block of this lane or a later one; nr_blocks: there is none. */
uint32_t fg_index_block_from(const struct fg_call_index *index, uint32_t lane);
/* The place in `shorts` of a function and block, or the next one. */
size_t fg_index_find_short(const struct fg_call_index *index, uint32_t func, uint32_t block);

/* Adds the function's longest spans of at least @least_ns: at most @most of them, the longest first. */
int fg_index_longest(const struct fg_call_index *index, uint32_t func, uint64_t least_ns, size_t most,
                     struct fg_span_rows *rows);

int fg_span_rows_add(struct fg_span_rows *rows, const struct fg_span *span);

/* The lane's marks of a kind: their places are from *first to before the value that is returned. */
size_t fg_index_marks(const struct fg_call_index *index, uint32_t lane, uint32_t kind, uint64_t begin_ns,
                      uint64_t end_ns, size_t *first);

#endif
