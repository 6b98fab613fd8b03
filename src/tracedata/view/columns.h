/* Events as columns: an array for each property of an event, to be read without an object per event.
 *
 *     time_ns    kind    function  ...  data_offsets  data
 *     +--------+ +-----+ +-------+      +---------+   +----------------+
 *     |        | |entry| |   3   |      |    0 ---+-->| values of 0    |
 *     |        | |entry| |   7   |      |   11 ---+-->| values of 1    |
 *     |        | |exit | |   7   |      |   11 ---+-->|                |
 *     +--------+ +-----+ +-------+      |   11    |   +----------------+
 *                                       +---------+
 *
 * The data of event i is data[data_offsets[i]] up to data[data_offsets[i + 1]], as Apache Arrow lays out
 * binary data. */
#ifndef FG_COLUMNS_H
#define FG_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/event_table.h"
#include "tracedata/read/merge.h"

/* X(name, type, format of Python's struct module, meaning). One item for each event. */
#define FG_COLUMNS(X)                                                                                        \
    X(time_ns, uint64_t, "Q", "when: on the trace's clock")                                                  \
    X(start_ns, uint64_t, "Q", "when the call first began, of calls that were suspended; else 0")            \
    X(calltime_ns, uint64_t, "Q", "the end of a call: when it began or was last resumed; else 0")            \
    X(rettime_ns, uint64_t, "Q", "the end of a call: when it ended or was suspended; else 0")                \
    X(lost, uint64_t, "Q", "records lost just before; FG_LOST_UNKNOWN: an unknown number")                   \
    X(number, uint64_t, "Q",                                                                                 \
      "wait: how long in ns; overrun: calls not traced so far; repeats: how often; event: number of its "    \
      "kind; other: a kernel's id")                                                                          \
    X(function, uint32_t, "I", "its index, or FG_FUNC_UNKNOWN")                                              \
    X(caller, uint32_t, "I", "index of the function that made the call, or FG_FUNC_UNKNOWN")                 \
    X(caller_line, uint32_t, "I", "the line at which it did (native code: the offset), or 0")                \
    X(task, uint32_t, "I", "its number")                                                                     \
    X(depth, uint32_t, "I", "of the call")                                                                   \
    X(kind, uint8_t, "B", "enum fg_column_kind")                                                             \
    X(irq, uint8_t, "?", "the interpreter made the call for a signal")

/* X(name, number) */
#define FG_COLUMN_KINDS(X)                                                                                   \
    X(entry, 0)                                                                                              \
    X(resume, 1)                                                                                             \
    X(return, 2)                                                                                             \
    X(raise, 3)                                                                                              \
    X(suspend, 4)                                                                                            \
    X(close, 5)                                                                                              \
    X(function, 6)                                                                                           \
    X(wait, 7)                                                                                               \
    X(overrun, 8)                                                                                            \
    X(mark, 9)                                                                                               \
    X(stack, 10)                                                                                             \
    X(repeats, 11)                                                                                           \
    X(other, 12) /* of a later version, or a kernel's */                                                     \
    X(event, 13) /* that a program or its user defined */

enum fg_column_kind {
#define X(name, value) FG_COLUMN_##name = (value),
    FG_COLUMN_KINDS(X)
#undef X
};

/* A batch is full when its data has so many bytes, whatever room is left for events. */
#define FG_COLUMNS_DATA_BYTES (4u << 20)

struct fg_columns {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_COLUMNS(X)
#undef X
    int32_t *data_offsets; /* n + 1 of them */
    /* entry, function: arguments, and return, raise, suspend: the outcome, as values (record.h);
     * mark: the text; stack: u32 function indexes; event: its image (field.h); other: a kernel's record */
    uint8_t *data;
    size_t data_bytes;
};

/* Room for @capacity events, at least 1. Return: 0 or -ENOMEM. The columns must be freed in any case. */
int fg_columns_init(struct fg_columns *columns, size_t capacity);
void fg_columns_free(struct fg_columns *columns);

/* Gives back the memory that columns with few events do not need. */
void fg_columns_trim(struct fg_columns *columns);

/* True if a further event may find no room. */
bool fg_columns_is_full(const struct fg_columns *columns);

/* Adds an event. There must be room. @types: what events of the trace are. Return: 0; -EINVAL: a field is
 * impossible. */
int fg_columns_add(struct fg_columns *columns, const struct fg_event *event, uint32_t task,
                   const struct fg_event_table *types);

/* Adds events until the columns are full. Return: 1; 0 at the end of the trace; or an error of
 * fg_merge_next(), and the columns have the events before it. */
int fg_columns_fill(struct fg_columns *columns, struct fg_merge *merge);

#endif
