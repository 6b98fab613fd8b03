/* Converts compact records (record.h) to events (trace_event.h): one task at a time, record by record.
 * Between records it keeps the task's waits and its overrun count. */
#ifndef FG_CONVERT_H
#define FG_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/ring/record.h"
#include "tracedata/base/event_table.h"
#include "tracedata/base/trace_clock.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/fg/ranks.h"
#include "tracedata/spool/time_scale.h"

/* Room for an event. No other has more before what it takes over from the record. */
#define FG_CONVERT_EVENT_BYTES (sizeof(struct fg_graph_data) + FG_RECORD_MAX_WORDS * sizeof(uint64_t))

/* A wait of the task for the recorder, in ticks. */
struct fg_convert_wait {
    uint64_t begin, end;
    uint64_t total; /* of this wait and all earlier ones */
};

struct fg_convert {
    struct fg_time_scale scale;
    enum fg_clock_unit unit; /* of the times of events */
    struct fg_ranks *ranks;  /* with FG_UNIT_COUNT */
    uint32_t lane;
    const uint32_t *functions; /* function id -> index in the trace, or FG_FUNC_UNKNOWN */
    size_t nr_functions;
    const uint32_t *event_numbers; /* the ring's number of an event -> number in event_types plus 1, or 0 */
    size_t nr_event_numbers;
    const struct fg_event_table *event_types;
    int32_t tid;

    struct fg_convert_wait *waits;
    size_t nr_waits, waits_capacity;
    uint64_t overrun;
    uint64_t lost; /* records lost just before the next event */

    /* There are two, so that an event stays as it is while the next one is made. */
    unsigned current;
    _Alignas(8) uint8_t events[2][FG_CONVERT_EVENT_BYTES];
};

/* Whether the record is a plain entry or return: one without start and values, and not for a signal. */
static inline bool fg_record_is_plain(uint32_t info)
{
    const uint32_t rest = FG_RECORD_HAS_START | FG_RECORD_HAS_VALUES | FG_RECORD_IRQ;

    return (info & (15u | rest) & ~(uint32_t)FG_RECORD_RETURN) == FG_RECORD_ENTRY;
}

/* The event of a plain record. */
struct fg_plain_event {
    uint64_t time_ns;
    uint32_t type;
    struct fg_graph_data graph;
};

/* To be called before @event is made for the first time: fills in what all of them have in common. */
static inline void fg_plain_event_init(struct fg_plain_event *event)
{
    *event = (struct fg_plain_event){.graph.caller = FG_FUNC_UNKNOWN};
}

/* Begins a task and forgets the one before; the memory for waits is reused. */
void fg_convert_begin_task(struct fg_convert *convert, int32_t tid);

/* Makes the event of a sound record: its time, type, size, data and tid. The data stays as it is until the
 * second call after this one. Return: 1; 0: the record is a count of lost ones, which convert->lost has now;
 * or -ENOMEM. */
int fg_convert_record(struct fg_convert *convert, const struct fg_record *record, struct fg_event *event);

/**
 * fg_convert_plain() - Make the events of plain entries and returns, which most records are.
 * @at: the first of sound records; set to the one that comes next: that one is not plain, or *at is @end
 * @last_time: no time of an event is less
 * @made: room for @most events
 *
 * Return: how many were made.
 */
size_t fg_convert_plain(const struct fg_convert *convert, const uint64_t **at, const uint64_t *end,
                        uint64_t last_time, struct fg_plain_event *made, size_t most);

void fg_convert_free(struct fg_convert *convert);

#endif
