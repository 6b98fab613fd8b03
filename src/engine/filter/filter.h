/* Event filters: which hits of an event count. A filter reads the event's image (ring/field.h) and accepts or
 * rejects it.
 *
 * funcgraph/events/filter.py parses the text of a filter into a program, as the kernel does: comparisons,
 * each with two exits. An exit leads to a later comparison or ends the program, so every program
 * terminates. The bytes of a program, little-endian:
 *
 *     u16 terms | u16 0 | u32 bytes of the rest
 *     for each term:
 *         i16 source | u8 operation | u8 kind of operand | u16 when_true | u16 when_false | u64 operand
 *     the rest: texts (UTF-8) and sets (u64 each, ascending), to which operands refer: offset in the rest in
 *     the low half, bytes in the high half
 *
 * graph/filter.h has function filters, which are another thing. */
#ifndef FG_EVENT_FILTER_H
#define FG_EVENT_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ring/field.h"

/* X(operation, its name in a program of Python). `!=` is EQ with its exits swapped. So a field that could
 * not be read makes `!=` true and every other comparison false. */
#define FG_EVENT_FILTER_OPERATIONS(X)                                                                        \
    X(EQ, "==")                                                                                              \
    X(LT, "<")                                                                                               \
    X(LE, "<=")                                                                                              \
    X(GT, ">")                                                                                               \
    X(GE, ">=")                                                                                              \
    X(AND, "&")                                                                                              \
    X(GLOB, "~")                                                                                             \
    X(IN, "in")     /* a set of numbers: processors, functions */                                            \
    X(TRUE, "true") /* the field as a condition */                                                           \
    X(NONE, "none") /* the value is None */

enum fg_event_filter_operation {
#define X(operation, name) FG_EVENT_FILTER_##operation,
    FG_EVENT_FILTER_OPERATIONS(X)
#undef X
        FG_NR_EVENT_FILTER_OPERATIONS
};

#define FG_EVENT_FILTER_OPERANDS(X)                                                                          \
    X(NOTHING, "nothing")                                                                                    \
    X(SIGNED, "signed")                                                                                      \
    X(UNSIGNED, "unsigned")                                                                                  \
    X(REAL, "real")                                                                                          \
    X(TEXT, "text")                                                                                          \
    X(SET, "set")

enum fg_event_filter_operand {
#define X(operand, name) FG_EVENT_FILTER_##operand,
    FG_EVENT_FILTER_OPERANDS(X)
#undef X
        FG_NR_EVENT_FILTER_OPERANDS
};

/* X(source, its name in a program of Python, type, offset in the image). A source of 0 and above is the index
 * of a field; the first one here is -1. CPU and COMM are not in the image: the thread that evaluates the
 * filter is asked. */
#define FG_EVENT_FILTER_SOURCES(X)                                                                           \
    X(COMMON_TYPE, "common_type", U16, 0)                                                                    \
    X(COMMON_FLAGS, "common_flags", U8, 2)                                                                   \
    X(COMMON_PREEMPT_COUNT, "common_preempt_count", U8, 3)                                                   \
    X(COMMON_PID, "common_pid", S32, 4)                                                                      \
    X(CPU, "cpu", S32, 0)                                                                                    \
    X(COMM, "comm", STRING, 0)                                                                               \
    X(AT_8, "at_8", SYMBOL, 8)                                                                               \
    X(AT_16, "at_16", SYMBOL, 16)

enum fg_event_filter_source {
#define X(source, name, type, offset) FG_EVENT_FILTER_##source,
    FG_EVENT_FILTER_SOURCES(X)
#undef X
        FG_NR_EVENT_FILTER_SOURCES
};

/* Exits that end the program. */
#define FG_EVENT_FILTER_ACCEPT 0xffffu
#define FG_EVENT_FILTER_REJECT 0xfffeu

struct fg_event_filter;

/**
 * fg_event_filter_make() - Make a filter of the bytes of a program.
 * @fields: the event's fields, to which the program refers by index; they are copied
 *
 * Return: 0, and *@filter is to be freed with fg_event_filter_free(). -ENOMEM. -EINVAL: the bytes are no
 * program for these fields: an exit leads back or out of the program, a text lies outside of the rest, a
 * field's type does not have the comparison.
 */
int fg_event_filter_make(struct fg_event_filter **filter, const void *program, size_t program_bytes,
                         const struct fg_field *fields, uint32_t nr_fields);
/* The caller knows that no thread evaluates it any longer. NULL is allowed. */
void fg_event_filter_free(struct fg_event_filter *filter);

/**
 * fg_event_filter_matches() - Does the filter accept this event?
 *
 * A filter never changes, so any number of threads can evaluate it at once. This takes no lock and allocates
 * nothing. A field outside of the image is one that could not be read, as is one whose
 * bit among the faults is set.
 */
bool fg_event_filter_matches(const struct fg_event_filter *filter, const uint8_t *image, uint32_t bytes);

#endif
