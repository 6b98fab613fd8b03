/* See row_lane.h. */
#include "tracedata/read/fg/row_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/compiler.h"
#include "tracedata/base/file_io.h"
#include "tracedata/spool/chunk_check.h"
#include "tracedata/spool/record_check.h"

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
    for (unsigned i = 0; i < FG_ROW_LANE_BATCH; i++) {
        fg_plain_event_init(&lane->made[0][i]);
        fg_plain_event_init(&lane->made[1][i]);
    }
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
    lane->pieces = fg_piece_run(task);
    lane->was_damaged = false;
    lane->convert.scale = ring->scale;
    lane->convert.functions = recorded->functions[lane_task->ring];
    lane->convert.nr_functions = ring->functions_capacity;
    lane->convert.event_numbers = ring->events;
    lane->convert.nr_event_numbers = ring->events_capacity;
    fg_convert_begin_task(&lane->convert, (int32_t)task->tid);
    return true;
}

/* Whether a piece begins after a time; one with a damaged header does not. Return: 1, 0 or a negative
 * errno. */
static int begins_after(const struct fg_row_lane *lane, const struct fg_piece *piece, uint64_t ns)
{
    struct fg_spool_chunk chunk;
    int error = fg_file_read(lane->pass->recorded->fd, &chunk, sizeof(chunk), piece->offset);

    if (error < 0)
        return error;
    return fg_chunk_is_sound(&chunk) && fg_time_scale_ns(&lane->convert.scale, chunk.first_ticks) > ns;
}

/* Skips the pieces of the current task before the last one that does not begin after a time. */
static int skip_pieces(struct fg_row_lane *lane, uint64_t from_ns)
{
    size_t low = 0, high = (size_t)(lane->pieces.end - lane->pieces.next);

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int is_after = begins_after(lane, &lane->pieces.next[middle], from_ns);

        if (is_after < 0)
            return is_after;
        if (is_after)
            high = middle;
        else
            low = middle + 1;
    }
    if (low > 1) {
        lane->pieces.next += low - 1;
        lane->was_damaged = lane->pieces.next[-1].damaged;
    }
    return 0;
}

int fg_row_lane_skip_to(struct fg_row_lane *lane, uint64_t from_ns)
{
    const struct fg_lane_task *tasks = lane->pass->recorded->lanes.tasks;

    while (lane->task < lane->end_task && tasks[lane->task].last_ns < from_ns)
        lane->task++;
    return begin_task(lane) ? skip_pieces(lane, from_ns) : 0;
}

int fg_row_lane_open_task(struct fg_row_lane *lane, struct fg_row_pass *pass, size_t task, uint64_t from_ns)
{
    fg_row_lane_open(lane, pass, pass->recorded->lanes.tasks[task].lane);
    lane->task = task;
    lane->end_task = task + 1;
    begin_task(lane);
    return skip_pieces(lane, from_ns);
}

static uint64_t pieces_bytes(const struct fg_piece *piece, const struct fg_piece *end)
{
    uint64_t bytes = 0;

    for (; piece < end; piece++)
        bytes += piece->stored_bytes;
    return bytes;
}

uint64_t fg_row_lane_bytes(const struct fg_row_lane *lane)
{
    const struct fg_recorded *recorded = lane->pass->recorded;
    uint64_t bytes = pieces_bytes(lane->pieces.next, lane->pieces.end);

    for (size_t i = lane->task; i < lane->end_task; i++) {
        const struct fg_lane_task *lane_task = &recorded->lanes.tasks[i];
        const struct fg_trace_task *task = &recorded->contents.rings[lane_task->ring].tasks[lane_task->task];

        bytes += pieces_bytes(task->pieces, task->pieces + task->nr_pieces);
    }
    return bytes;
}

/* Reads the next piece of the task. A damaged one counts as lost. */
static int begin_piece(struct fg_row_lane *lane)
{
    const struct fg_piece *piece = lane->pieces.next;
    struct fg_chunk_reader *chunks = &lane->pass->chunks;
    size_t bytes = 0, room = lane->records_bytes;
    uint64_t *records = lane->records;
    int result = fg_row_pass_read(lane->pass, &lane->pieces, &bytes);

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

/* Makes the events of a batch of plain records, of which there is one at least. */
static void make_plain(struct fg_row_lane *lane)
{
    struct fg_plain_event *made = lane->made[lane->batch ^= 1];
    size_t n =
        fg_convert_plain(&lane->convert, &lane->at, lane->end, lane->last_time, made, FG_ROW_LANE_BATCH);

    lane->next_made = made;
    lane->end_made = made + n;
    lane->last_time = made[n - 1].time_ns;
}

/* Makes the events of the next records: of a batch of plain ones, or of one other. Return: 1: @event is that
 * of the other; 0: there is none of another; or -ENOMEM. */
static int make_events(struct fg_row_lane *lane, struct fg_event *event)
{
    const struct fg_record *record = (const struct fg_record *)lane->at;
    int result;

    if (fg_record_is_plain(record->info)) {
        make_plain(lane);
        return 0;
    }
    lane->at += fg_record_words(record->info);
    result = fg_convert_record(&lane->convert, record, event);
    if (result <= 0)
        return result;
    if (event->time_ns < lane->last_time)
        event->time_ns = lane->last_time;
    lane->last_time = event->time_ns;
    return 1;
}

static inline void take_made(struct fg_row_lane *lane, struct fg_event *event)
{
    const struct fg_plain_event *made = lane->next_made++;

    event->time_ns = made->time_ns;
    event->lost = 0;
    event->data = (const uint8_t *)&made->graph;
    event->size = sizeof(made->graph);
    event->type = made->type;
    event->tid = lane->convert.tid;
}

/* All events that were made are taken. */
FG_NOINLINE static int make_next(struct fg_row_lane *lane, struct fg_event *event)
{
    int made = 0;

    while (made == 0 && lane->next_made == lane->end_made) {
        if (lane->at < lane->end)
            made = make_events(lane, event);
        else if (lane->pieces.next < lane->pieces.end)
            made = begin_piece(lane);
        else if (!begin_task(lane))
            return 0;
    }
    if (made < 0)
        return made;
    if (made == 0)
        take_made(lane, event);
    event->lost = lane->convert.lost;
    lane->convert.lost = 0;
    return 1;
}

int fg_row_lane_next(struct fg_row_lane *lane, struct fg_event *event)
{
    if (fg_unlikely(lane->next_made == lane->end_made))
        return make_next(lane, event);
    take_made(lane, event);
    return 1;
}
