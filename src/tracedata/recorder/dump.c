/* See dump.h. */
#include "tracedata/recorder/dump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/base/hash_table.h"
#include "tracedata/base/new_file.h"

#define UNKNOWN_RING UINT32_MAX

/* A ring of the dump. Its facts, the payload of the RING chunk, are the same in all segments. */
struct dump_ring {
    char *facts;
    size_t bytes;
};

/* What a ring of the present segment is in the dump. */
struct ring_place {
    uint32_t number;
    bool is_repeated; /* what comes now was in the segment before: up to the STATE with the base */
};

/* What a task has written into the sub-buffer that it owns, as a DATA chunk. */
struct part {
    struct fg_spool_chunk chunk;
    void *rows;
    size_t bytes;
};

struct dump {
    struct fg_spool spool;
    struct fg_chunk_reader reader;
    struct dump_ring *rings;
    size_t nr_rings, rings_capacity;
    struct fg_hash_table by_facts; /* ring's facts -> place in `rings` plus 1 */
    struct ring_place *places;     /* by the segment's number */
    size_t nr_places, places_capacity;
    struct part *parts;
    size_t nr_parts, parts_capacity;
    struct fg_dumped dumped;
    bool may_lack_segments; /* then symbols that a segment repeats may have been in one that is missing */
};

static int keep_part(struct dump *dump, const struct fg_spool_chunk *chunk, const struct fg_row_packer *rows)
{
    void *copy;

    if (fg_array_reserve(&dump->parts, &dump->parts_capacity, dump->nr_parts + 1) < 0)
        return -ENOMEM;
    copy = malloc(rows->bytes + 1);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, rows->rows, rows->bytes);
    dump->parts[dump->nr_parts++] = (struct part){*chunk, copy, rows->bytes};
    return 0;
}

/* Copies what the owners of a ring's sub-buffers have written. A claimed sub-buffer, whose append failed
 * before, uses the reader's memory: that one is drained first. */
static int peek_ring(struct dump *dump, struct fg_recorder *recorder, uint32_t number)
{
    struct fg_recorder_ring *ring = &recorder->rings[number];
    int64_t drained = ring->has_chunk ? fg_recorder_drain(recorder, number) : 0;
    struct fg_ring_chunk owned;
    uint32_t nr_subbufs;
    int found = drained < 0 ? (int)drained : 0;

    if (drained == -EBADMSG) /* its owner has damaged it, and it was given up */
        return 0;
    nr_subbufs = fg_ring_reader_facts(ring->reader)->nr_subbufs;
    for (uint32_t i = fg_ring_reader_next_used(ring->reader, 0); i < nr_subbufs && found >= 0;
         i = fg_ring_reader_next_used(ring->reader, i + 1)) {
        struct fg_spool_chunk chunk;

        found = fg_ring_reader_peek(ring->reader, i, &owned);
        if (found <= 0)
            continue;
        found = fg_recorder_pack(recorder, number, &owned, &chunk);
        if (found == 0)
            found = keep_part(dump, &chunk, &recorder->rows);
    }
    return found == -EBADMSG || found > 0 ? 0 : found;
}

static int peek_all(struct dump *dump, struct fg_recorder *recorder)
{
    int error = 0;

    for (uint32_t i = 0; i < recorder->nr_rings && error == 0; i++)
        if (recorder->rings[i].reader)
            error = peek_ring(dump, recorder, i);
    return error;
}

static void drop_part(struct part *part)
{
    free(part->rows);
    part->rows = NULL;
}

/* Return: whether the last segment has all of the sub-buffer: it was full when the ring was drained. */
static bool is_drained(const struct fg_recorder *recorder, const struct fg_spool_chunk *part)
{
    const struct fg_trace_ring *ring = &recorder->contents.rings[part->ring];
    uint64_t place = fg_hash_find(&ring->by_id, fg_hash_uint64(part->task));
    const struct fg_trace_task *task = place ? &ring->tasks[place - 1] : NULL;

    return task && task->nr_pieces && task->pieces[task->nr_pieces - 1].seq >= part->seq;
}

static int drain_all(struct fg_recorder *recorder)
{
    int64_t drained = 0;

    for (uint32_t i = 0; i < recorder->nr_rings && (drained >= 0 || drained == -EBADMSG); i++)
        if (recorder->rings[i].reader)
            drained = fg_recorder_drain(recorder, i);
    return drained < 0 && drained != -EBADMSG ? (int)drained : fg_recorder_refresh(recorder);
}

/* Takes what the tasks have written up to now. While one sub-buffer is copied its task may fill it and
 * others, and leave gaps between the copies. So what is full is drained afterwards, and replaces its copy. If
 * the last segment takes no more, or a ring cannot be read, the trace ends with what was drained before. */
static void take_latest(struct dump *dump, struct fg_recorder *recorder)
{
    int error = peek_all(dump, recorder);

    if (error == 0)
        error = drain_all(recorder);
    for (size_t i = 0; i < dump->nr_parts; i++)
        if (error < 0 || is_drained(recorder, &dump->parts[i].chunk))
            drop_part(&dump->parts[i]);
}

static uint64_t hash_facts(const void *facts, size_t bytes)
{
    return fg_hash_bytes(FG_HASH_BYTES_BEGIN, facts, bytes);
}

static uint32_t find_ring(const struct dump *dump, const void *facts, size_t bytes)
{
    const struct fg_hash_slot *slot = fg_hash_first(&dump->by_facts, hash_facts(facts, bytes));

    for (; slot; slot = fg_hash_next(&dump->by_facts, slot)) {
        const struct dump_ring *ring = &dump->rings[slot->value - 1];

        if (ring->bytes == bytes && memcmp(ring->facts, facts, bytes) == 0)
            return (uint32_t)(slot->value - 1);
    }
    return UNKNOWN_RING;
}

static int add_ring(struct dump *dump, const void *facts, size_t bytes)
{
    char *copy;

    if (dump->nr_rings >= FG_CONTENTS_MAX_RINGS)
        return -ENOSPC;
    if (fg_array_reserve(&dump->rings, &dump->rings_capacity, dump->nr_rings + 1) < 0 ||
        fg_hash_reserve(&dump->by_facts) < 0)
        return -ENOMEM;
    copy = malloc(bytes + 1);
    if (copy == NULL)
        return -ENOMEM;
    memcpy(copy, facts, bytes);
    dump->rings[dump->nr_rings++] = (struct dump_ring){copy, bytes};
    return fg_hash_add(&dump->by_facts, hash_facts(facts, bytes), dump->nr_rings);
}

/* A RING chunk: says what the segment's number is in the dump. */
static int meet_ring(struct dump *dump, const struct fg_spool_chunk *chunk)
{
    uint32_t number = find_ring(dump, dump->reader.payload.data, chunk->bytes);
    bool is_repeated = number != UNKNOWN_RING;
    int error;

    if (fg_array_reserve_zeroed(&dump->places, &dump->places_capacity, (size_t)chunk->ring + 1) < 0)
        return -ENOMEM;
    for (; dump->nr_places <= chunk->ring; dump->nr_places++)
        dump->places[dump->nr_places] = (struct ring_place){.number = UNKNOWN_RING};
    if (!is_repeated) {
        number = (uint32_t)dump->nr_rings;
        error = add_ring(dump, dump->reader.payload.data, chunk->bytes);
        if (error < 0)
            return error;
    }
    dump->places[chunk->ring] = (struct ring_place){number, is_repeated};
    return 0;
}

/* Gives a ring's chunk its number in the dump. Return: whether the chunk belongs there. */
static bool renumber(struct dump *dump, struct fg_spool_chunk *chunk)
{
    struct ring_place *place = chunk->ring < dump->nr_places ? &dump->places[chunk->ring] : NULL;
    bool is_base = chunk->type == FG_SPOOL_STATE && (chunk->flags & FG_SPOOL_BASE);
    bool belongs;

    if (place == NULL || place->number == UNKNOWN_RING)
        return false;
    belongs = !place->is_repeated || (dump->may_lack_segments && chunk->type == FG_SPOOL_SYMBOLS);
    if (is_base)
        place->is_repeated = false;
    chunk->ring = place->number;
    return belongs;
}

static void count(struct dump *dump, const struct fg_spool_chunk *chunk)
{
    dump->dumped.records += chunk->type == FG_SPOOL_DATA ? chunk->nr_records : 0;
    dump->dumped.lost += chunk->type == FG_SPOOL_DATA ? chunk->lost : 0;
}

static int copy_chunk(struct dump *dump, const struct fg_spool_place *place)
{
    struct fg_spool_chunk chunk;
    int error = fg_chunk_read(&dump->reader, place->offset, place->chunk.stored_bytes, &chunk);

    if (error == 0 && chunk.type == FG_SPOOL_RING)
        error = meet_ring(dump, &chunk);
    if (error < 0)
        return error;
    if (chunk.type != FG_SPOOL_CLOCK && chunk.type != FG_SPOOL_META && !renumber(dump, &chunk))
        return 0;
    count(dump, &chunk);
    return fg_spool_append_stored(&dump->spool, &chunk, dump->reader.stored.data + sizeof(chunk));
}

static int copy_segment(struct dump *dump, int fd)
{
    struct fg_spool_index index;
    int error = fg_spool_index_read(fd, &index);

    dump->reader.fd = fd;
    dump->nr_places = 0;
    for (size_t i = 0; i < index.nr_places && error == 0; i++)
        error = copy_chunk(dump, &index.places[i]);
    fg_spool_index_free(&index);
    return error;
}

/* The chunks of the last segment gave dump->places. */
static int append_parts(struct dump *dump)
{
    uint64_t offset;
    int error = 0;

    for (size_t i = 0; i < dump->nr_parts && error == 0; i++) {
        struct part *part = &dump->parts[i];

        if (part->rows == NULL || !renumber(dump, &part->chunk))
            continue;
        count(dump, &part->chunk);
        error = fg_spool_append(&dump->spool, &part->chunk, part->rows, part->bytes, &offset);
    }
    return error;
}

static int append_meta(struct dump *dump, const char *meta, size_t bytes)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_META};
    uint64_t offset;

    return fg_spool_append(&dump->spool, &chunk, meta, bytes, &offset);
}

/* The symbols of the parts are committed, and in the last segment after its refresh. */
static int write_dump(struct dump *dump, struct fg_recorder *recorder, const int *segments,
                      size_t nr_segments)
{
    int error = 0;

    take_latest(dump, recorder);
    for (size_t i = 0; i < nr_segments && error == 0; i++)
        error = copy_segment(dump, segments[i]);
    if (error == 0)
        error = copy_segment(dump, recorder->spool.fd);
    return error < 0 ? error : append_parts(dump);
}

static void dump_free(struct dump *dump)
{
    for (size_t i = 0; i < dump->nr_rings; i++)
        free(dump->rings[i].facts);
    for (size_t i = 0; i < dump->nr_parts; i++)
        drop_part(&dump->parts[i]);
    free(dump->rings);
    fg_hash_clear(&dump->by_facts);
    free(dump->places);
    free(dump->parts);
    fg_chunk_reader_free(&dump->reader);
    fg_spool_close(&dump->spool);
}

int fg_recorder_dump(struct fg_recorder *recorder, const int *segments, size_t nr_segments, const char *meta,
                     size_t meta_bytes, const char *path, struct fg_dumped *dumped)
{
    struct dump dump = {.spool.fd = -1};
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    if (error < 0)
        return error;
    error = fg_spool_create_in(&dump.spool, file.fd);
    if (error == 0)
        error = write_dump(&dump, recorder, segments, nr_segments);
    if (error == 0)
        error = append_meta(&dump, meta, meta_bytes);
    if (error == 0)
        error = fg_spool_complete(&dump.spool);
    *dumped = dump.dumped;
    dump_free(&dump);
    if (error < 0)
        fg_new_file_discard(&file);
    else
        error = fg_new_file_publish(&file);
    return error;
}

struct rotated_file {
    int fd;
    uint64_t begin_ns; /* of its first CLOCK chunk */
};

/* The records do not tell the order: a task that sleeps has old ones, which the newest file gets. */
static int find_begin(struct fg_chunk_reader *reader, struct rotated_file *file)
{
    struct fg_spool_index index;
    struct fg_spool_chunk chunk;
    int error = fg_spool_index_read(file->fd, &index);

    reader->fd = file->fd;
    for (size_t i = 0; i < index.nr_places && error == 0; i++) {
        struct fg_spool_clock clock;

        if (index.places[i].chunk.type != FG_SPOOL_CLOCK)
            continue;
        error = fg_chunk_read(reader, index.places[i].offset, index.places[i].chunk.stored_bytes, &chunk);
        if (error == 0 && chunk.bytes < sizeof(clock))
            error = -EBADMSG;
        if (error == 0) {
            memcpy(&clock, reader->payload.data, sizeof(clock));
            file->begin_ns = clock.now.monotonic_ns;
        }
        break;
    }
    fg_spool_index_free(&index);
    return error;
}

static int by_begin(const void *a, const void *b)
{
    const struct rotated_file *one = a, *other = b;

    return (one->begin_ns > other->begin_ns) - (one->begin_ns < other->begin_ns);
}

int fg_rotation_join(const int *files, size_t nr_files, int into)
{
    struct dump dump = {.spool.fd = -1, .may_lack_segments = true};
    struct rotated_file *sorted = calloc(nr_files + 1, sizeof(*sorted));
    int error = sorted ? fg_spool_create_in(&dump.spool, into) : -ENOMEM;

    for (size_t i = 0; i < nr_files && error == 0; i++) {
        sorted[i].fd = files[i];
        error = find_begin(&dump.reader, &sorted[i]);
    }
    if (error == 0)
        qsort(sorted, nr_files, sizeof(*sorted), by_begin);
    for (size_t i = 0; i < nr_files && error == 0; i++)
        error = copy_segment(&dump, sorted[i].fd);
    if (error == 0)
        error = fg_spool_complete(&dump.spool);
    free(sorted);
    dump_free(&dump);
    return error;
}
