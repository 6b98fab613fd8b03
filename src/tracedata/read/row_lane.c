/* See row_lane.h. */
#include "tracedata/read/row_lane.h"

#include "engine/core/compiler.h"
#include "tracedata/spool/record_check.h"
#include <errno.h>
#include <stdlib.h>

void fg_row_lane_open(struct fg_row_lane *lane, struct fg_row_pass *pass, uint32_t number)
{
    *lane = (struct fg_row_lane){
        .pass = pass,
        .task = pass->recorded->first_tasks[number],
        .end_task = pass->recorded->first_tasks[number + 1],
        .convert = {.unit = pass->recorded->unit,
                    .ranks = &pass->ranks,
                    .lane = number,
                    .event_types = &pass->recorded->contents.events},
    };
}

void fg_row_lane_close(struct fg_row_lane *lane)
{
    free(lane->records);
    fg_convert_free(&lane->convert);
}

/* False: the lane has no further task. */
static bool begin_task(struct fg_row_lane *lane)
{
    const struct fg_recorded *recorded = lane->pass->recorded;
    const struct fg_lane_task *lane_task = &recorded->lanes.tasks[lane->task];
    const struct fg_trace_ring *ring;
    const struct fg_trace_task *task;

    if (lane->task == lane->end_task)
        return false;
    lane->task++;
    ring = &recorded->contents.rings[lane_task->ring];
    task = &ring->tasks[lane_task->task];
    lane->piece = task->pieces;
    lane->end_piece = task->pieces + task->nr_pieces;
    lane->was_damaged = false;
    lane->convert.scale = ring->scale;
    lane->convert.addresses = recorded->addresses[lane_task->ring];
    lane->convert.nr_addresses = ring->functions_capacity;
    lane->convert.event_numbers = ring->events;
    lane->convert.nr_event_numbers = ring->events_capacity;
    fg_convert_begin_task(&lane->convert, (int32_t)task->tid);
    return true;
}

/* Reads the next piece of the task. A damaged one counts as lost. */
static int begin_piece(struct fg_row_lane *lane)
{
    const struct fg_piece *piece = lane->piece++;
    struct fg_chunk_reader *chunks = &lane->pass->chunks;
    size_t bytes = 0, room = lane->records_bytes;
    uint64_t *records = lane->records;
    int result = fg_row_pass_read(lane->pass, piece, &bytes);

    if (result < 0)
        return result;
    if (result > 0) {
        lane->records = chunks->records;
        lane->records_bytes = chunks->records_bytes;
        chunks->records = records;
        chunks->records_bytes = room;
    }
    lane->at = lane->records;
    lane->end = lane->at + bytes / FG_RECORD_WORD_BYTES;
    lane->convert.lost += piece->lost + lane->was_damaged + (result > 0 ? 0 : piece->nr_records);
    lane->was_damaged = piece->damaged;
    return 0;
}

int fg_row_lane_next(struct fg_row_lane *lane, struct fg_event *event)
{
    int made = 0;

    while (made == 0) {
        if (fg_likely(lane->at < lane->end)) {
            const struct fg_record *record = (const struct fg_record *)lane->at;

            lane->at += fg_record_words(record->info);
            made = fg_convert_record(&lane->convert, record, event);
        } else if (lane->piece < lane->end_piece) {
            made = begin_piece(lane);
        } else if (!begin_task(lane)) {
            return 0;
        }
    }
    if (made < 0)
        return made;
    if (fg_unlikely(event->time_ns < lane->last_time))
        event->time_ns = lane->last_time;
    lane->last_time = event->time_ns;
    event->lost = lane->convert.lost;
    lane->convert.lost = 0;
    return 1;
}
