/* Converts compact records (record.h) to trace.dat events (wire.h): one task at a time, sub-buffer by
 * sub-buffer. Between records it keeps the task's waits and its overrun count. */
#ifndef FG_CONVERT_H
#define FG_CONVERT_H

#include "tracedata/base/trace_clock.h"
#include "tracedata/make/pages.h"
#include "tracedata/make/ranks.h"
#include "tracedata/spool/time_scale.h"
#include <stddef.h>
#include <stdint.h>

/* A wait of the task for the recorder, in ticks. */
struct fg_convert_wait {
    uint64_t begin, end;
    uint64_t total; /* of this wait and all earlier ones */
};

struct fg_convert {
    struct fg_pages *pages;
    struct fg_time_scale scale;
    enum fg_clock_unit unit;   /* of the times of events */
    struct fg_ranks *ranks;    /* with FG_UNIT_COUNT */
    const uint32_t *addresses; /* function id -> synthetic address */
    size_t nr_addresses;
    int32_t tid;

    struct fg_convert_wait *waits;
    size_t nr_waits, waits_capacity;
    uint64_t overrun;

    uint64_t events;            /* written so far */
    uint64_t first_ns, last_ns; /* in that unit */
};

/* Begins a task and forgets the one before; the memory for waits is reused. */
void fg_convert_begin_task(struct fg_convert *convert, int32_t tid);

/* Converts the records of one sub-buffer, up to the first one that is not sound, for which the task's
 * next event shows one more record as lost. Return: 0 or -ENOMEM; `pages` keeps errors of writing. */
int fg_convert_records(struct fg_convert *convert, const void *data, size_t bytes);

void fg_convert_free(struct fg_convert *convert);

#endif
