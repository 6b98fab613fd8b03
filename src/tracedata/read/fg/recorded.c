/* See recorded.h. */
#include "tracedata/read/fg/recorded.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/base/trace_event.h"
#include "tracedata/read/fg/read_ahead.h"
#include "tracedata/read/fg/trace_meta.h"

#define PIECES_BEFORE 4u /* read of a run until more are read ahead */
#define PIECES_AHEAD 8u

static const struct fg_trace_ring *ring_of(const struct fg_recorded *recorded,
                                           const struct fg_lane_task *task)
{
    return &recorded->contents.rings[task->ring];
}

static int by_seq(const void *a, const void *b)
{
    const struct fg_piece *one = a, *other = b;

    return (one->seq > other->seq) - (one->seq < other->seq);
}

static void sort_pieces(struct fg_contents *contents)
{
    for (size_t i = 0; i < contents->nr_rings; i++) {
        struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks; j++)
            if (ring->tasks[j].nr_pieces)
                qsort(ring->tasks[j].pieces, ring->tasks[j].nr_pieces, sizeof(*ring->tasks[j].pieces),
                      by_seq);
    }
}

uint32_t *fg_recorded_functions(const struct fg_symbols *symbols, const struct fg_trace_ring *ring)
{
    uint32_t *functions = malloc((ring->functions_capacity + 1) * sizeof(*functions));

    for (size_t id = 0; functions && id < ring->functions_capacity; id++)
        functions[id] =
            ring->functions[id] == 0 ? FG_FUNC_UNKNOWN : symbols->functions[ring->functions[id] - 1].index;
    return functions;
}

static int find_functions(struct fg_recorded *recorded)
{
    const struct fg_contents *contents = &recorded->contents;

    recorded->functions = calloc(contents->nr_rings + 1, sizeof(*recorded->functions));
    if (recorded->functions == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++) {
        recorded->functions[i] = fg_recorded_functions(&contents->symbols, &contents->rings[i]);
        if (recorded->functions[i] == NULL)
            return -ENOMEM;
    }
    return 0;
}

static int find_first_tasks(struct fg_recorded *recorded)
{
    const struct fg_lanes *lanes = &recorded->lanes;
    size_t task = 0;

    recorded->first_tasks = malloc((lanes->nr_lanes + (size_t)1) * sizeof(*recorded->first_tasks));
    if (recorded->first_tasks == NULL)
        return -ENOMEM;
    for (uint32_t lane = 0; lane <= lanes->nr_lanes; lane++) {
        while (task < lanes->nr_tasks && lanes->tasks[task].lane < lane)
            task++;
        recorded->first_tasks[lane] = task;
    }
    return 0;
}

/* The number of events, and the first and last one's time in the trace's unit, of each task. */
static int count_events(struct fg_recorded *recorded)
{
    struct fg_row_pass pass;
    int error = fg_row_pass_begin(&pass, recorded);

    for (size_t i = 0; i < recorded->lanes.nr_tasks && error == 0; i++) {
        struct fg_lane_task *task = &recorded->lanes.tasks[i];
        const struct fg_trace_task *known = &ring_of(recorded, task)->tasks[task->task];

        task->events = known->nr_records;
        switch (recorded->unit) {
        case FG_UNIT_NS:
            break;
        case FG_UNIT_TICKS:
            task->first_ns = known->first_ticks;
            task->last_ns = known->last_ticks;
            break;
        case FG_UNIT_JIFFIES:
            task->first_ns /= FG_JIFFY_NS;
            task->last_ns /= FG_JIFFY_NS;
            break;
        case FG_UNIT_COUNT:
            task->first_ns = fg_ranks_first(&pass.ranks, task->first_ns);
            task->last_ns = fg_ranks_last(&pass.ranks, task->last_ns);
        }
    }
    fg_row_pass_end(&pass);
    return error;
}

int fg_recorded_open(int fd, struct fg_recorded *recorded)
{
    struct fg_chunk_reader reader = {.fd = fd};
    struct fg_spool_index index;
    int error;

    *recorded = (struct fg_recorded){.fd = fd};
    error = fg_spool_index_read(fd, &index);
    recorded->contents.nr_gaps = index.nr_gaps;
    recorded->contents.damaged_at = index.damaged_at;
    recorded->is_complete = index.is_complete;
    recorded->whole_bytes = index.whole_bytes;
    recorded->end = index.end;
    if (error == 0)
        error = fg_contents_load(&recorded->contents, &reader, &index, 0);
    fg_chunk_reader_free(&reader);
    fg_spool_index_free(&index);
    if (error < 0)
        return error;
    fg_symbols_seal(&recorded->contents.symbols);
    recorded->unit = fg_trace_clock_unit(recorded->contents.clock);
    sort_pieces(&recorded->contents);
    error = fg_lanes_assign(&recorded->contents, &recorded->lanes);
    if (error == 0)
        error = find_functions(recorded);
    if (error == 0)
        error = find_first_tasks(recorded);
    return error < 0 ? error : count_events(recorded);
}

void fg_recorded_close(struct fg_recorded *recorded)
{
    for (size_t i = 0; recorded->functions && i < recorded->contents.nr_rings; i++)
        free(recorded->functions[i]);
    free(recorded->functions);
    free(recorded->first_tasks);
    fg_lanes_free(&recorded->lanes);
    fg_contents_free(&recorded->contents);
    *recorded = (struct fg_recorded){.fd = -1};
}

int fg_recorded_set_meta(struct fg_recorded *recorded, const char *meta, size_t bytes)
{
    struct fg_text *text = &recorded->contents.meta;

    text->bytes = 0;
    fg_text_put(text, meta, bytes);
    return text->failed ? -ENOMEM : 0;
}

void fg_recorded_describe(const struct fg_recorded *recorded, size_t first_function, struct fg_text *json)
{
    const struct fg_text *meta = &recorded->contents.meta;

    fg_trace_meta_build(json, &recorded->contents, &recorded->lanes, first_function, meta->data, meta->bytes);
}

/* ---- a pass */

/* Has the pieces read ahead that come next, once a run goes on for some pieces: who looks at a short part of
 * a trace needs no more of it. */
static void read_ahead(struct fg_row_pass *pass, struct fg_piece_run *run)
{
    const struct fg_piece *end =
        (size_t)(run->end - run->next) > PIECES_AHEAD ? run->next + PIECES_AHEAD : run->end;

    if (++run->nr_read < PIECES_BEFORE || run->next == run->end || !pass->may_read_ahead)
        return;
    if (!pass->ahead)
        pass->ahead = fg_read_ahead_new(pass->recorded->fd);
    pass->may_read_ahead = pass->ahead != NULL;
    if (run->wanted < run->next)
        run->wanted = run->next;
    while (pass->ahead && run->wanted < end && fg_read_ahead_want(pass->ahead, run->wanted))
        run->wanted++;
}

static int read_piece(struct fg_row_pass *pass, const struct fg_piece *piece, struct fg_spool_chunk *chunk)
{
    int result;

    if (pass->ahead && fg_read_ahead_take(pass->ahead, piece, &pass->chunks, chunk, &result))
        return result;
    return fg_chunk_read_records(&pass->chunks, piece->offset, piece->stored_bytes, chunk);
}

int fg_row_pass_read(struct fg_row_pass *pass, struct fg_piece_run *run, size_t *record_bytes)
{
    const struct fg_piece *piece = run->next++;
    struct fg_spool_chunk chunk;
    int error = fg_reading_add(pass->reading, piece->stored_bytes);

    if (error == 0)
        error = read_piece(pass, piece, &chunk);
    if (error == 0)
        read_ahead(pass, run);
    if (error == 0) {
        *record_bytes = chunk.record_bytes;
        return 1;
    }
    if (error != -EBADMSG && error != -EIO)
        return error;
    if (pass->damaged_at == 0)
        pass->damaged_at = piece->offset;
    return 0;
}

static int rank_task(struct fg_row_pass *pass, const struct fg_lane_task *task)
{
    const struct fg_trace_ring *ring = ring_of(pass->recorded, task);
    struct fg_piece_run run = fg_piece_run(&ring->tasks[task->task]);
    size_t bytes = 0;

    while (run.next < run.end) {
        int result = fg_row_pass_read(pass, &run, &bytes);

        if (result > 0)
            result = fg_ranks_add(&pass->ranks, &ring->scale, task->lane, pass->chunks.records, bytes);
        if (result < 0)
            return result;
    }
    return 0;
}

int fg_row_pass_begin(struct fg_row_pass *pass, const struct fg_recorded *recorded)
{
    int error = 0;

    *pass = (struct fg_row_pass){.recorded = recorded,
                                 .chunks.fd = recorded->fd,
                                 .may_read_ahead = true,
                                 .damaged_at = recorded->contents.damaged_at};
    if (recorded->unit != FG_UNIT_COUNT)
        return 0;
    for (size_t i = 0; i < recorded->lanes.nr_tasks && error == 0; i++)
        error = rank_task(pass, &recorded->lanes.tasks[i]);
    return error < 0 ? error : fg_ranks_sort(&pass->ranks);
}

void fg_row_pass_end(struct fg_row_pass *pass)
{
    fg_read_ahead_free(pass->ahead);
    pass->ahead = NULL;
    fg_chunk_reader_free(&pass->chunks);
    fg_ranks_free(&pass->ranks);
}
