/* Calls of a trace as columns: a row for each call, from its beginning to its end, with what it is a part of.
 *
 * It follows summary.h, so that sums over the rows are its figures. The rows come in the order of the calls'
 * ends. A call whose end is not in the trace comes when that is known, with the end `open`: its own time is
 * the one that the summary counts. */
#ifndef FG_CALL_COLUMNS_H
#define FG_CALL_COLUMNS_H

#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/merge.h"

/* X(name, C type, format of Python's struct module, meaning). */
#define FG_CALL_COLUMNS(X)                                                                                   \
    X(id, uint64_t, "Q", "its number, in the order of beginnings, from 1")                                   \
    X(parent, uint64_t, "Q", "the number of the call that it was made from, or 0")                           \
    X(begin_ns, uint64_t, "Q", "when it began, on the trace's clock")                                        \
    X(end_ns, uint64_t, "Q", "when it ended; of an open one: its last event")                                \
    X(duration_ns, int64_t, "q", "how long it ran, without suspends; -1: unknown")                           \
    X(self_ns, uint64_t, "Q", "of that its own time: without traced callees")                                \
    X(function, uint32_t, "I", "its index, or that after the last one")                                      \
    X(caller, uint32_t, "I", "the function that made the call, if recorded, or that after the last one")     \
    X(caller_line, uint32_t, "I", "the line at which it did, or 0")                                          \
    X(task, uint32_t, "I", "the number of the task in which it ended")                                       \
    X(depth, uint32_t, "I", "how many traced calls it was made from")                                        \
    X(resumes, uint32_t, "I", "how often it was resumed")                                                    \
    X(ended, uint8_t, "B", "enum fg_call_end")

/* X(name, number) */
#define FG_CALL_ENDS(X)                                                                                      \
    X(return, 0)                                                                                             \
    X(raise, 1)                                                                                              \
    X(open, 2) /* its end is not in the trace; or it is suspended */                                         \
    X(close, 3)

enum fg_call_end {
#define X(name, value) FG_CALL_##name = (value),
    FG_CALL_ENDS(X)
#undef X
};

/* How a call ended, by the kind of its exit: one that is damaged says nothing. */
static inline enum fg_call_end fg_call_end_of(unsigned kind)
{
    static const uint8_t ends[] = {[FG_EXIT_RETURN] = FG_CALL_return,
                                   [FG_EXIT_RAISE] = FG_CALL_raise,
                                   [FG_EXIT_SUSPEND] = FG_CALL_open,
                                   [FG_EXIT_CLOSE] = FG_CALL_close};

    return kind < sizeof(ends) ? (enum fg_call_end)ends[kind] : FG_CALL_open;
}

/* A column of texts, as Apache Arrow has them. */
struct fg_text_column {
    int32_t *offsets; /* n + 1 of them */
    struct fg_text text;
};

struct fg_call_columns {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_CALL_COLUMNS(X)
#undef X
    struct fg_text_column arguments; /* "n=3, s='abc'" */
    struct fg_text_column result;    /* or the type of the exception */
};

/* Zeroed, the columns are empty. Makes room for so many rows. Return: 0 or -ENOMEM. */
int fg_call_columns_reserve(struct fg_call_columns *columns, size_t capacity);
void fg_call_columns_free(struct fg_call_columns *columns);

struct fg_call_reader;

/* Begins to read the calls of @merge, which stays the caller's and lives as long. Without @has_texts the
 * texts are empty, which is faster. Return: 0 or -ENOMEM. */
int fg_call_reader_new(struct fg_merge *merge, bool has_texts, struct fg_call_reader **reader);
void fg_call_reader_free(struct fg_call_reader *reader);

/* Leaves out all calls but those of @numbers, in ascending order, which the reader frees with free(). */
void fg_call_reader_choose(struct fg_call_reader *reader, uint64_t *numbers, size_t n);

/* Adds @size rows or a few more: those that one event ends. Return: 1; 0: there are no more; or an error of
 * fg_merge_next(), and the columns have the calls before it. */
int fg_call_reader_fill(struct fg_call_reader *reader, struct fg_call_columns *columns, size_t size);

#endif
