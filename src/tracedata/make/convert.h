/* From compact records (record.h) to trace.dat events (wire.h): one task at a time, a sub-buffer after the
 * other. What a task must remember between its records is here: its waits and its overrun count. */
#ifndef FG_CONVERT_H
#define FG_CONVERT_H

#include "tracedata/make/pages.h"
#include "tracedata/spool/time_scale.h"
#include <stddef.h>
#include <stdint.h>

/* A time in which the task waited for the recorder, in ticks. */
struct fg_convert_wait {
    uint64_t begin, end;
    uint64_t total; /* ticks of all waits up to this one's end */
};

struct fg_convert {
    struct fg_pages *pages;
    struct fg_time_scale scale;
    const uint32_t *addresses; /* function id -> synthetic address */
    size_t nr_addresses;
    int32_t tid;

    struct fg_convert_wait *waits;
    size_t nr_waits, waits_capacity;
    uint64_t overrun;

    uint64_t events; /* written so far */
    uint64_t first_ns, last_ns;
};

/* Begins a task: forgets the one before. The memory for waits is kept for the next one. */
void fg_convert_begin_task(struct fg_convert *convert, int32_t tid);

/* Converts one sub-buffer's records. The first that is not sound ends it, and the task's next event shows one
 * more as lost. 0 or -ENOMEM; errors of writing are kept in `pages`. */
int fg_convert_records(struct fg_convert *convert, const void *data, size_t bytes);

void fg_convert_free(struct fg_convert *convert);

#endif
