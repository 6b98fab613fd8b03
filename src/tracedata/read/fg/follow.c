/* See follow.h. */
#include "tracedata/read/fg/follow.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/read/fg/lanes.h"
#include "tracedata/read/fg/trace_meta.h"
#include "tracedata/spool/record_check.h"

int fg_follow_open(struct fg_follow *follow, int fd, uint64_t from)
{
    int error;

    *follow = (struct fg_follow){.fd = fd, .from = from, .chunks.fd = fd};
    error = fg_spool_index_read(fd, &follow->index);
    follow->contents.nr_gaps = follow->index.nr_gaps;
    return error < 0 ? error : fg_contents_load(&follow->contents, &follow->chunks, &follow->index, 0);
}

bool fg_follow_has_ended(const struct fg_follow *follow)
{
    return follow->index.is_complete;
}

/* ---- a chunk */

static int find_task(struct fg_follow *follow, uint32_t ring, uint32_t place, uint32_t *number)
{
    uint64_t hash = fg_hash_uint64((uint64_t)ring << 32 | place),
             found = fg_hash_find(&follow->by_place, hash);

    if (found == 0) {
        if (fg_array_reserve(&follow->tasks, &follow->tasks_capacity, follow->nr_tasks + 1) < 0 ||
            fg_hash_add(&follow->by_place, hash, follow->nr_tasks + 1) < 0)
            return -ENOMEM;
        follow->tasks[follow->nr_tasks] = (struct fg_follow_task){.ring = ring, .place = place};
        found = ++follow->nr_tasks;
    }
    *number = (uint32_t)found - 1;
    return 0;
}

/* The task's state moves into the converter while its chunk is read, and back. */
static void leave_task(struct fg_follow *follow)
{
    struct fg_follow_task *task = &follow->tasks[follow->current];

    task->waits = follow->convert.waits;
    task->nr_waits = follow->convert.nr_waits;
    task->waits_capacity = follow->convert.waits_capacity;
    task->overrun = follow->convert.overrun;
    task->lost = follow->convert.lost;
}

static void enter_task(struct fg_follow *follow, const struct fg_trace_ring *ring)
{
    const struct fg_follow_task *task = &follow->tasks[follow->current];

    follow->convert.scale = ring->scale;
    follow->convert.unit = fg_trace_clock_unit(follow->contents.clock);
    if (follow->convert.unit == FG_UNIT_COUNT) /* numbers are given here */
        follow->convert.unit = FG_UNIT_NS;
    follow->convert.tid = (int32_t)ring->tasks[task->place].tid;
    follow->convert.waits = task->waits;
    follow->convert.nr_waits = task->nr_waits;
    follow->convert.waits_capacity = task->waits_capacity;
    follow->convert.overrun = task->overrun;
    follow->convert.lost = task->lost;
}

static int find_functions(struct fg_follow *follow, const struct fg_trace_ring *ring)
{
    free(follow->functions);
    follow->functions = fg_recorded_functions(&follow->contents.symbols, ring);
    follow->convert.functions = follow->functions;
    follow->convert.nr_functions = ring->functions_capacity;
    follow->convert.event_numbers = ring->events;
    follow->convert.nr_event_numbers = ring->events_capacity;
    follow->convert.event_types = &follow->contents.events;
    return follow->functions ? 0 : -ENOMEM;
}

/* Reads a DATA chunk. A damaged one counts as lost. */
static int begin_chunk(struct fg_follow *follow, const struct fg_spool_place *place)
{
    struct fg_spool_chunk chunk = place->chunk;
    const struct fg_trace_ring *ring;
    int error, damaged;

    if (chunk.ring >= follow->contents.nr_rings)
        return 0; /* not believed: fg_contents_load() counted a gap */
    ring = &follow->contents.rings[chunk.ring];
    error = find_task(follow, chunk.ring,
                      (uint32_t)fg_hash_find(&ring->by_id, fg_hash_uint64(chunk.task)) - 1, &follow->current);
    if (error == 0)
        error = find_functions(follow, ring);
    if (error < 0)
        return error;
    damaged = fg_chunk_read_records(&follow->chunks, place->offset, chunk.stored_bytes, &chunk);
    if (damaged < 0 && damaged != -EBADMSG && damaged != -EIO)
        return damaged;
    enter_task(follow, ring);
    follow->convert.lost += place->chunk.lost + follow->tasks[follow->current].was_damaged;
    follow->tasks[follow->current].was_damaged = (place->chunk.flags & FG_SPOOL_DAMAGED) != 0;
    if (damaged < 0) {
        follow->convert.lost += place->chunk.nr_records;
        follow->damaged_at = follow->damaged_at ? follow->damaged_at : place->offset;
        leave_task(follow);
        return 0;
    }
    follow->at = follow->chunks.records;
    follow->end = follow->at + chunk.record_bytes / FG_RECORD_WORD_BYTES;
    return 0;
}

/* ---- events */

static void finish_event(struct fg_follow *follow, struct fg_event *event)
{
    struct fg_follow_task *task = &follow->tasks[follow->current];

    follow->nr_events++;
    if (follow->contents.clock == FG_TRACE_CLOCK_COUNTER)
        event->time_ns = follow->nr_events;
    if (event->time_ns < task->last_time)
        event->time_ns = task->last_time;
    task->last_time = event->time_ns;
    event->lost = follow->convert.lost;
    follow->convert.lost = 0;
    event->task = follow->current;
}

int fg_follow_next(struct fg_follow *follow, struct fg_event *event)
{
    for (;;) {
        while (follow->at < follow->end) {
            const struct fg_record *record = (const struct fg_record *)follow->at;
            int made = fg_convert_record(&follow->convert, record, event);

            follow->at += fg_record_words(record->info);
            if (made > 0)
                finish_event(follow, event);
            if (follow->at >= follow->end || made < 0)
                leave_task(follow);
            if (made)
                return made;
        }
        if (follow->place == follow->index.nr_places)
            return 0;
        const struct fg_spool_place *place = &follow->index.places[follow->place++];
        int error = 0;

        if (place->chunk.type == FG_SPOOL_DATA && place->offset >= follow->from)
            error = begin_chunk(follow, place);
        if (error < 0)
            return error;
    }
}

/* Forgets where records lie that were read: memory does not grow with the file. */
static void forget_read(struct fg_follow *follow)
{
    follow->index.nr_places = 0;
    follow->place = 0;
    for (size_t i = 0; i < follow->contents.nr_rings; i++)
        for (size_t j = 0; j < follow->contents.rings[i].nr_tasks; j++)
            follow->contents.rings[i].tasks[j].nr_pieces = 0;
}

int fg_follow_poll(struct fg_follow *follow)
{
    uint64_t nr_gaps = follow->index.nr_gaps;
    int error;

    if (follow->index.is_complete)
        return 0;
    forget_read(follow);
    error = fg_spool_index_follow(follow->fd, &follow->index);
    follow->contents.nr_gaps += follow->index.nr_gaps - nr_gaps;
    if (error == 0)
        error = fg_contents_load(&follow->contents, &follow->chunks, &follow->index, 0);
    return error < 0 ? error : follow->index.nr_places > 0;
}

void fg_follow_close(struct fg_follow *follow)
{
    if (follow->at < follow->end)
        leave_task(follow);
    for (size_t i = 0; i < follow->nr_tasks; i++)
        free(follow->tasks[i].waits);
    free(follow->tasks);
    free(follow->functions);
    fg_hash_clear(&follow->by_place);
    fg_chunk_reader_free(&follow->chunks);
    fg_contents_free(&follow->contents);
    fg_spool_index_free(&follow->index);
    *follow = (struct fg_follow){.fd = -1};
}

/* ---- what it names */

static struct fg_lane_task lane_task_of(const struct fg_follow *follow, const struct fg_lanes *lanes,
                                        const struct fg_follow_task *task)
{
    const struct fg_trace_ring *ring = &follow->contents.rings[task->ring];
    const struct fg_trace_task *known = &ring->tasks[task->place];
    uint32_t buffer = lanes->ring_buffers[task->ring];

    return (struct fg_lane_task){
        .ring = task->ring,
        .task = task->place,
        .buffer = buffer,
        .lane = buffer,
        .first_ns = fg_time_scale_ns(&ring->scale, known->first_ticks),
        .last_ns = fg_time_scale_ns(&ring->scale, known->last_ticks),
        .events = known->nr_records,
    };
}

void fg_follow_describe(const struct fg_follow *follow, size_t first_function, size_t first_task,
                        size_t first_event, struct fg_text *json)
{
    const struct fg_contents *contents = &follow->contents;
    struct fg_lane_task *tasks = calloc(follow->nr_tasks + 1, sizeof(*tasks));
    struct fg_lanes lanes;

    if (tasks == NULL || fg_lanes_assign(contents, &lanes) < 0) {
        free(tasks);
        json->failed = true;
        return;
    }
    free(lanes.tasks);
    lanes.tasks = tasks;
    lanes.nr_tasks = 0;
    lanes.nr_cpus = 1;
    for (size_t i = first_task; i < follow->nr_tasks; i++)
        tasks[lanes.nr_tasks++] = lane_task_of(follow, &lanes, &follow->tasks[i]);
    fg_trace_meta_build_from(json, contents, &lanes, first_function, first_event);
    fg_lanes_free(&lanes);
}
