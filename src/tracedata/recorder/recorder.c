/* See recorder.h. */
#include "tracedata/recorder/recorder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/array.h"
#include "engine/base/clock.h"
#include "tracedata/base/output_folder.h"
#include "tracedata/spool/damage.h"

/* How old the clock and counts in the spool may be, when the rings are gone and the spool is all that is
 * left. */
#define STATE_INTERVAL_NS UINT64_C(500000000)

/* Of one chunk of symbols, about: a reader holds one in memory. */
#define SYMBOLS_BYTES (UINT32_C(1) << 20)

/* Clock pairs closer than this give a line that is too inexact to extend far. */
#define CLOCK_BASE_NS UINT64_C(10000000)

static void ring_close(struct fg_recorder_ring *ring)
{
    fg_ring_reader_close(ring->reader);
    fg_text_free(&ring->symbols);
    free(ring->spooled);
    *ring = (struct fg_recorder_ring){0};
}

void fg_recorder_close(struct fg_recorder *recorder)
{
    for (size_t i = 0; i < recorder->nr_rings; i++)
        ring_close(&recorder->rings[i]);
    free(recorder->rings);
    recorder->rings = NULL;
    recorder->nr_rings = recorder->rings_capacity = 0;
    fg_contents_free(&recorder->contents);
    fg_row_packer_free(&recorder->rows);
    fg_spool_close(&recorder->spool);
}

/* Appends a chunk to the spool and takes it in. */
static int append(struct fg_recorder *recorder, struct fg_spool_chunk *chunk, const void *payload,
                  size_t bytes)
{
    struct fg_spool_place place;
    int error = fg_spool_append(&recorder->spool, chunk, payload, bytes, &place.offset);

    if (error < 0)
        return error;
    place.chunk = *chunk;
    error = fg_contents_take(&recorder->contents, &place, payload);
    if (error < 0)
        fg_spool_undo(&recorder->spool); /* the caller will append it again */
    return error;
}

/* Appends the trace's clock. Not to a resumed spool: since it was left, the machine may have slept or been
 * restarted. */
static int take_clock(struct fg_recorder *recorder)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_CLOCK};
    struct fg_spool_clock now = {.clock = recorder->clock};

    if (recorder->resumed)
        return 0;
    now.now = fg_trace_clock_read(recorder->clock);
    return append(recorder, &chunk, &now, sizeof(now));
}

static int begin_spool(struct fg_recorder *recorder, const char *path)
{
    int error = fg_spool_create(&recorder->spool, path);

    if (error == 0) {
        error = take_clock(recorder);
        if (error < 0)
            fg_output_remove(path);
    }
    return error;
}

/* Damaged chunks stay in the file, but the trace that is made of it has them no longer. */
static int append_losses(struct fg_recorder *recorder, struct fg_spool_chunk *lost, size_t nr_lost)
{
    const struct fg_rows_header no_rows = {0};
    int error = 0;

    for (size_t i = 0; i < nr_lost && error == 0; i++) {
        fg_damage_lose_records(&lost[i]);
        error = append(recorder, &lost[i], &no_rows, sizeof(no_rows));
    }
    return error;
}

static int resume_spool(struct fg_recorder *recorder, const char *path)
{
    struct fg_spool_index index = {0};
    struct fg_chunk_reader reader = {0};
    struct fg_spool_chunk *lost = NULL;
    size_t nr_lost = 0;
    int error = fg_spool_open(&recorder->spool, path);

    if (error < 0)
        return error;
    reader.fd = recorder->spool.fd;
    error = fg_spool_index_read(reader.fd, &index);
    if (error == 0)
        error = fg_damage_take_out(reader.fd, &index, &lost, &nr_lost);
    recorder->contents.nr_gaps = index.nr_gaps;
    if (error == 0)
        error = fg_contents_load(&recorder->contents, &reader, &index, 0);
    if (error == 0)
        error = fg_contents_survey_all(&recorder->contents, &reader);
    if (error == 0)
        error = fg_spool_resume(&recorder->spool, &index);
    if (error == 0)
        error = append_losses(recorder, lost, nr_lost);
    free(lost);
    fg_chunk_reader_free(&reader);
    fg_spool_index_free(&index);
    return error;
}

static void recorder_init(struct fg_recorder *recorder, enum fg_trace_clock clock, bool resume)
{
    *recorder = (struct fg_recorder){.spool.fd = -1, .resumed = resume, .clock = clock};
    fg_clock_init();
}

int fg_recorder_open(struct fg_recorder *recorder, const char *path, enum fg_trace_clock clock, bool resume)
{
    int error;

    recorder_init(recorder, clock, resume);
    error = resume ? resume_spool(recorder, path) : begin_spool(recorder, path);
    if (error < 0)
        fg_recorder_close(recorder);
    return error;
}

int fg_recorder_open_in(struct fg_recorder *recorder, int fd, enum fg_trace_clock clock)
{
    int error;

    recorder_init(recorder, clock, false);
    error = fg_spool_create_in(&recorder->spool, fd);
    if (error == 0)
        error = take_clock(recorder);
    if (error < 0)
        fg_recorder_close(recorder);
    return error;
}

void fg_recorder_set_codec(struct fg_recorder *recorder, const struct fg_codec *codec)
{
    fg_packer_free(&recorder->spool.packer);
    recorder->spool.packer.codec = codec;
}

void fg_recorder_set_ring_bytes(struct fg_recorder *recorder, uint64_t most_bytes)
{
    recorder->most_ring_bytes = most_bytes;
}

static uint64_t most_ring_bytes(const struct fg_recorder *recorder)
{
    return recorder->most_ring_bytes ? recorder->most_ring_bytes : FG_RING_ANY_BYTES;
}

static bool is_ring(const struct fg_trace_ring *ring, const struct fg_ring_facts *facts, const char *name)
{
    return ring->name && strcmp(ring->name, name) == 0 && ring->pid == facts->pid &&
           ring->clock_start.ticks == facts->clock_start.ticks &&
           ring->clock_start.monotonic_ns == facts->clock_start.monotonic_ns;
}

static int by_number(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

/* Notes which symbols and sub-buffers of the ring the resumed spool has. */
static int ring_resume(struct fg_recorder_ring *ring, const struct fg_trace_ring *known)
{
    size_t count = 0;

    for (size_t i = 0; i < known->nr_tasks; i++)
        count += known->tasks[i].nr_pieces;
    ring->spooled = malloc((count + 1) * sizeof(*ring->spooled));
    if (ring->spooled == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < known->nr_tasks; i++)
        for (size_t j = 0; j < known->tasks[i].nr_pieces; j++)
            ring->spooled[ring->nr_spooled++] = known->tasks[i].pieces[j].seq;
    qsort(ring->spooled, ring->nr_spooled, sizeof(*ring->spooled), by_number);
    ring->symbols_to_skip = known->nr_symbols;
    return 0;
}

static int append_ring(struct fg_recorder *recorder, uint32_t number, const struct fg_ring_facts *facts,
                       const char *name)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_RING, .ring = number};
    struct fg_spool_ring ring = {
        .pid = facts->pid,
        .clock_kind = facts->clock_kind,
        .clock_start = facts->clock_start,
        .name_bytes = strlen(name),
    };
    struct fg_text payload = {0};
    int error;

    memcpy(ring.instance, facts->instance, sizeof(ring.instance));
    fg_text_put(&payload, (const char *)&ring, sizeof(ring));
    fg_text_puts(&payload, name);
    error = payload.failed ? -ENOMEM : append(recorder, &chunk, payload.data, payload.bytes);
    fg_text_free(&payload);
    return error;
}

static int join(struct fg_recorder *recorder, struct fg_ring_reader *reader, const char *name)
{
    const struct fg_ring_facts *facts = fg_ring_reader_facts(reader);
    size_t number = 0;
    int error;

    if (!recorder->resumed)
        number = recorder->contents.nr_rings;
    while (number < recorder->contents.nr_rings && !is_ring(&recorder->contents.rings[number], facts, name))
        number++;
    if (number >= FG_CONTENTS_MAX_RINGS)
        return -ENOSPC;
    if (fg_array_reserve_zeroed(&recorder->rings, &recorder->rings_capacity, number + 1) < 0)
        return -ENOMEM;
    if (number >= recorder->nr_rings)
        recorder->nr_rings = number + 1;
    if (recorder->rings[number].reader)
        return -EEXIST;
    if (number < recorder->contents.nr_rings)
        error = ring_resume(&recorder->rings[number], &recorder->contents.rings[number]);
    else
        error = append_ring(recorder, (uint32_t)number, facts, name);
    if (error < 0) {
        ring_close(&recorder->rings[number]);
        return error;
    }
    recorder->rings[number].reader = reader;
    recorder->rings[number].damage = NULL;
    return (int)number;
}

int fg_recorder_add_ring(struct fg_recorder *recorder, int fd, const char *name, bool is_private)
{
    struct fg_ring_reader *reader = NULL;
    int error = fg_ring_reader_open(fd, most_ring_bytes(recorder), is_private, &reader), number;

    if (error < 0)
        return error;
    number = join(recorder, reader, name);
    if (number < 0)
        fg_ring_reader_close(reader);
    return number;
}

static struct fg_recorder_ring *mapped_ring(struct fg_recorder *recorder, uint32_t number)
{
    return number < recorder->nr_rings && recorder->rings[number].reader ? &recorder->rings[number] : NULL;
}

/* The latest clock pair is the recorder's own, if that gives the longer line. In a resumed spool it is
 * the writer's, if that is not too close to the first: the machine may have slept since, and its clocks
 * disagree about sleep. */
struct fg_spool_state fg_recorder_ring_state(const struct fg_recorder *recorder,
                                             const struct fg_recorder_ring *ring,
                                             struct fg_ring_counts *counts)
{
    uint32_t clock_kind = fg_ring_reader_facts(ring->reader)->clock_kind;
    struct fg_clock_pair start, latest, now = fg_clock_read_pair();

    fg_ring_reader_clock(ring->reader, &start, &latest);
    fg_ring_reader_counts(ring->reader, counts);
    if (clock_kind == (uint32_t)fg_clock.kind && now.ticks > latest.ticks &&
        now.monotonic_ns > latest.monotonic_ns &&
        (!recorder->resumed || latest.monotonic_ns - start.monotonic_ns < CLOCK_BASE_NS))
        latest = now;
    return (struct fg_spool_state){
        .clock_latest = latest,
        .records_lost = counts->records_lost,
        .overrun = counts->overrun,
        .wait_count = counts->wait_count,
        .wait_ticks = counts->wait_ticks,
        .symbols_lost = counts->symbols_lost,
        .nr_tasks = counts->nr_tasks,
        .finished = counts->finished,
        .killed_bytes = strlen(counts->killed),
    };
}

static int append_state(struct fg_recorder *recorder, uint32_t number, uint16_t flags,
                        const struct fg_spool_state *state, const char *killed)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_STATE, .ring = number, .flags = flags};
    struct fg_text payload = {0};
    int error;

    fg_text_put(&payload, (const char *)state, sizeof(*state));
    fg_text_put(&payload, killed, state->killed_bytes);
    error = payload.failed ? -ENOMEM : append(recorder, &chunk, payload.data, payload.bytes);
    fg_text_free(&payload);
    if (error == 0)
        recorder->rings[number].state_ns = state->clock_latest.monotonic_ns;
    return error;
}

/* Appends the counts of the ring's header, unless there are only zeros left. */
static int take_state(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    struct fg_ring_counts counts;
    struct fg_spool_state state = fg_recorder_ring_state(recorder, ring, &counts);
    int error = 0;

    if (!fg_ring_reader_damage(ring->reader))
        error = append_state(recorder, number, 0, &state, counts.killed);
    return error < 0 ? error : take_clock(recorder);
}

static int append_symbols(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_SYMBOLS, .ring = number};
    int error;

    if (ring->symbols.bytes == 0)
        return 0;
    error = append(recorder, &chunk, ring->symbols.data, ring->symbols.bytes);
    if (error == 0)
        ring->symbols.bytes = 0;
    return error;
}

/* Appends new symbols to the spool, at most so many; those whose append fails are kept for the next call. */
static int take_some_symbols(struct fg_recorder *recorder, uint32_t number, uint64_t most)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    const struct fg_symbol *symbol;
    int error = 0;

    while (error == 0 && most-- > 0 && (symbol = fg_ring_reader_next_symbol(ring->reader))) {
        if (ring->symbols_to_skip > 0)
            ring->symbols_to_skip--;
        else
            fg_text_put(&ring->symbols, (const char *)symbol, symbol->bytes);
        if (ring->symbols.failed)
            return -ENOMEM;
        if (ring->symbols.bytes >= SYMBOLS_BYTES)
            error = append_symbols(recorder, number);
    }
    return error < 0 ? error : append_symbols(recorder, number);
}

static int take_symbols(struct fg_recorder *recorder, uint32_t number)
{
    return take_some_symbols(recorder, number, UINT64_MAX);
}

static bool is_spooled(const struct fg_recorder_ring *ring, uint64_t seq)
{
    return ring->nr_spooled &&
           bsearch(&seq, ring->spooled, ring->nr_spooled, sizeof(*ring->spooled), by_number) != NULL;
}

int fg_recorder_pack(struct fg_recorder *recorder, uint32_t number, const struct fg_ring_chunk *records,
                     struct fg_spool_chunk *chunk)
{
    struct fg_survey survey =
        fg_contents_survey(&recorder->contents.rings[number], records->data, records->bytes);

    *chunk = (struct fg_spool_chunk){
        .type = FG_SPOOL_DATA,
        .flags = survey.bytes != records->bytes ? FG_SPOOL_DAMAGED : 0,
        .ring = number,
        .task = records->task,
        .nr_records = (uint32_t)survey.records,
        .record_bytes = (uint32_t)survey.bytes,
        .seq = records->seq,
        .lost = records->lost,
        .first_ticks = survey.first_ticks,
        .last_ticks = survey.last_ticks,
    };
    return fg_rows_pack(&recorder->rows, records->data, survey.bytes);
}

/* Appends the records of the ring's claimed sub-buffer. Return: how many, or a negative errno. */
static int64_t append_records(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_spool_chunk chunk;
    int error = fg_recorder_pack(recorder, number, &recorder->rings[number].chunk, &chunk);

    if (error == 0 && (chunk.record_bytes || chunk.lost || chunk.flags))
        error = append(recorder, &chunk, recorder->rows.rows, recorder->rows.bytes);
    return error < 0 ? error : (int64_t)chunk.nr_records;
}

/* Appends the ring's claimed sub-buffer to the spool and releases it. Symbols go first, so that a spool
 * has the symbols of all of its records, wherever it ends. Return: how many records, or a negative errno. */
static int64_t take_chunk(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    int64_t records = take_symbols(recorder, number);

    if (records == 0 && !is_spooled(ring, ring->chunk.seq))
        records = append_records(recorder, number);
    if (records < 0)
        return records;
    /* Leftovers need no release: their writer is gone, and the file is removed when the trace is made. */
    if (!ring->at_leftovers)
        fg_ring_reader_release(ring->reader, &ring->chunk);
    ring->has_chunk = false;
    return records;
}

/* Return: 1: the ring has a chunk; 0: there is none; a negative errno. */
static int next_chunk(struct fg_recorder_ring *ring)
{
    int found;

    if (ring->has_chunk)
        return 1;
    found = ring->at_leftovers ? fg_ring_reader_next_leftover(ring->reader, &ring->chunk)
                               : fg_ring_reader_next(ring->reader, &ring->chunk);
    ring->has_chunk = found > 0;
    return found;
}

/* Unmaps a ring that its owner has damaged. A place without records tells of what was not drained. */
static int give_up(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_DATA,
                                   .flags = FG_SPOOL_DAMAGED,
                                   .ring = number,
                                   .task = ring->chunk.task,
                                   .seq = ring->chunk.seq + 1};
    const struct fg_rows_header no_rows = {0};
    const char *damage = fg_ring_reader_damage(ring->reader);
    int error = append_symbols(recorder, number);

    if (error == 0)
        error = append(recorder, &chunk, &no_rows, sizeof(no_rows));
    if (error < 0)
        return error;
    ring_close(ring);
    ring->damage = damage;
    return -EBADMSG;
}

/* Takes so many sub-buffers at most, and all symbols. Return: how many records, or a negative errno. */
static int64_t take_chunks(struct fg_recorder *recorder, uint32_t number, uint32_t most)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    int64_t records = 0;
    int found = 0, error;

    while (most-- > 0 && (found = next_chunk(ring)) > 0) {
        int64_t taken = take_chunk(recorder, number);

        if (taken < 0)
            return taken;
        records += taken;
    }
    error = found < 0 ? found : take_symbols(recorder, number);
    if ((error == 0 || error == -EBADMSG) && fg_ring_reader_damage(ring->reader))
        error = give_up(recorder, number);
    return error < 0 ? error : records;
}

int64_t fg_recorder_drain(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = mapped_ring(recorder, number);
    int64_t records;
    int error = 0;

    if (ring == NULL)
        return -ESRCH;
    /* Bounded: a writer as fast as the recorder would keep it here for ever. */
    records = take_chunks(recorder, number, fg_ring_reader_facts(ring->reader)->nr_subbufs);
    if (records > 0 && fg_clock_monotonic_ns() - ring->state_ns >= STATE_INTERVAL_NS)
        error = take_state(recorder, number);
    return error < 0 ? error : records;
}

/* Sub-buffers are found by their own state from now on. The queue is not read again: its owner may go on
 * filling it for ever. A writer that has not seen the stop yet may also queue a sub-buffer that is among the
 * leftovers, and it would be drained twice. */
static int64_t begin_leftovers(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    int64_t records = 0;

    if (ring->has_chunk && !ring->at_leftovers) /* its append failed before: it is given back */
        records = take_chunk(recorder, number);
    if (records >= 0)
        ring->at_leftovers = true;
    return records;
}

int fg_recorder_finish(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = mapped_ring(recorder, number);
    int64_t records;
    int error;

    if (ring == NULL)
        return -ESRCH;
    records = begin_leftovers(recorder, number);
    if (records >= 0)
        records = take_chunks(recorder, number, UINT32_MAX);
    if (records < 0)
        return (int)records;
    error = take_state(recorder, number);
    if (error == 0)
        ring_close(ring);
    return error;
}

const char *fg_recorder_damage(const struct fg_recorder *recorder, uint32_t number)
{
    return number < recorder->nr_rings ? recorder->rings[number].damage : NULL;
}

int fg_recorder_stop_writer(struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = mapped_ring(recorder, number);

    if (ring == NULL)
        return -ESRCH;
    fg_ring_reader_stop_writer(ring->reader);
    return 0;
}

int fg_recorder_refresh(struct fg_recorder *recorder)
{
    int error = take_clock(recorder);

    for (uint32_t i = 0; i < recorder->nr_rings && error == 0; i++)
        if (recorder->rings[i].reader) {
            error = take_symbols(recorder, i);
            if (error == 0)
                error = take_state(recorder, i);
        }
    return error;
}

int fg_recorder_describe(struct fg_recorder *recorder, const char *meta, size_t bytes)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_META};

    if (bytes > FG_SPOOL_MAX_META_BYTES)
        return -EFBIG;
    return append(recorder, &chunk, meta, bytes);
}

/* The counts that the recorder's file tells of a ring, since the ring began. */
static struct fg_spool_state reported_state(const struct fg_trace_ring *ring)
{
    struct fg_spool_state total = ring->state;

    total.records_lost += ring->base.records_lost;
    total.overrun += ring->base.overrun;
    total.wait_count += ring->base.wait_count;
    total.wait_ticks += ring->base.wait_ticks;
    total.nr_tasks += ring->base.nr_tasks;
    total.killed_bytes = ring->killed ? strlen(ring->killed) : 0;
    return total;
}

/* Begins a ring in the new file. Its reader stays the old recorder's until the rotation has succeeded. */
static int carry_ring(struct fg_recorder *next, const struct fg_recorder *recorder, uint32_t former)
{
    const struct fg_recorder_ring *old = &recorder->rings[former];
    const struct fg_trace_ring *known = &recorder->contents.rings[former];
    struct fg_spool_state total = reported_state(known);
    uint32_t number = (uint32_t)next->nr_rings;
    int error;

    if (fg_array_reserve_zeroed(&next->rings, &next->rings_capacity, number + 1) < 0)
        return -ENOMEM;
    next->rings[number] = (struct fg_recorder_ring){
        .reader = old->reader,
        .chunk = old->chunk,
        .has_chunk = old->has_chunk,
        .at_leftovers = old->at_leftovers,
        .former = former,
    };
    next->nr_rings++;
    error = append_ring(next, number, fg_ring_reader_facts(old->reader), known->name);
    fg_ring_reader_seek_symbols(old->reader, 0);
    /* Those that the old file has, and none that came since: a dump (dump.h) leaves them out as repeated. */
    if (error == 0)
        error = take_some_symbols(next, number, known->nr_symbols);
    return error < 0 ? error : append_state(next, number, FG_SPOOL_BASE, &total, known->killed);
}

int fg_recorder_carry(struct fg_recorder *next, const struct fg_recorder *recorder)
{
    int error;

    fg_recorder_set_codec(next, recorder->spool.packer.codec);
    fg_recorder_set_ring_bytes(next, recorder->most_ring_bytes);
    error = take_clock(next);
    if (error == 0 && recorder->contents.meta.bytes)
        error = fg_recorder_describe(next, recorder->contents.meta.data, recorder->contents.meta.bytes);
    for (uint32_t i = 0; i < recorder->nr_rings && error == 0; i++)
        if (recorder->rings[i].reader)
            error = carry_ring(next, recorder, i);
    return error;
}

int fg_recorder_complete(struct fg_recorder *recorder)
{
    return fg_spool_complete(&recorder->spool);
}
