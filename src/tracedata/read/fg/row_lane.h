/* Walks one lane of a `.fg`, event by event: task by task, chunk by chunk, record by record. */
#ifndef FG_ROW_LANE_H
#define FG_ROW_LANE_H

#include "tracedata/base/trace_event.h"
#include "tracedata/read/fg/convert.h"
#include "tracedata/read/fg/recorded.h"

/* So many events of plain records are made at once. */
#define FG_ROW_LANE_BATCH 32u

struct fg_row_lane {
    struct fg_row_pass *pass;
    size_t task, end_task;      /* in lanes.tasks: the one after the current one; of the next lane */
    struct fg_piece_run pieces; /* of the current task */
    bool was_damaged;           /* the sub-buffer of the current records had a rest */
    uint64_t *records;          /* of the current piece; memory that it exchanges with pass->chunks */
    size_t records_bytes;
    const uint64_t *at, *end;
    /* There are two batches, so that an event stays as it is while the next one is made. */
    const struct fg_plain_event *next_made, *end_made;
    unsigned batch;
    struct fg_plain_event made[2][FG_ROW_LANE_BATCH];
    uint64_t last_time; /* times never run backwards in a lane */
    struct fg_convert convert;
};

/* The lane must be closed; the pass lives longer. */
void fg_row_lane_open(struct fg_row_lane *lane, struct fg_row_pass *pass, uint32_t number);
/* Skips the tasks and chunks that end before the time @from_ns, as the chunks' headers tell, of a lane that
 * was just opened. Return: 0 or a negative errno; the lane must be closed in any case. */
int fg_row_lane_skip_to(struct fg_row_lane *lane, uint64_t from_ns);
/* The same for one task alone, a place in lanes.tasks: opens its lane, and skips to a time. */
int fg_row_lane_open_task(struct fg_row_lane *lane, struct fg_row_pass *pass, size_t task, uint64_t from_ns);
void fg_row_lane_close(struct fg_row_lane *lane);

/* The bytes of all chunks that the lane has not read yet. */
uint64_t fg_row_lane_bytes(const struct fg_row_lane *lane);

/* Takes the next event: fills in all that depends on the record, and `lost`. Its data stays as it is until
 * the second call after this one. Return: 1; 0 at the end; or a negative errno. */
int fg_row_lane_next(struct fg_row_lane *lane, struct fg_event *event);

/* Takes the events that follow the latest one if they are made already: of plain records, of the same task,
 * with nothing lost before any. They stay as they are until the lane's second next event. Return: how
 * many. */
static inline size_t fg_row_lane_take_plain(struct fg_row_lane *lane, const struct fg_plain_event **events)
{
    size_t n = (size_t)(lane->end_made - lane->next_made);

    *events = lane->next_made;
    lane->next_made = lane->end_made;
    return n;
}

#endif
