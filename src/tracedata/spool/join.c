/* See join.h. */
#include "tracedata/spool/join.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "tracedata/base/json.h"
#include "tracedata/base/new_file.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/damage.h"
#include "tracedata/spool/rows.h"
#include "tracedata/spool/spool.h"

struct join {
    struct fg_spool spool;
    struct fg_text stored; /* the payload of a chunk, as it lies in its file */
    uint32_t nr_rings;     /* of the parts before the present one */
    struct fg_joined joined;
    struct fg_reading *reading;
};

static int append_host(struct join *join, const struct fg_join_part *part, uint32_t ring)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_HOST, .ring = ring};
    struct fg_spool_host facts = part->host;
    struct fg_text payload = {0};
    uint64_t offset;
    int error;

    facts.name_bytes = (uint32_t)strlen(part->host_name);
    fg_text_put(&payload, (const char *)&facts, sizeof(facts));
    fg_text_put(&payload, part->host_name, facts.name_bytes);
    error = payload.failed ? -ENOMEM
                           : fg_spool_append(&join->spool, &chunk, payload.data, payload.bytes, &offset);
    fg_text_free(&payload);
    return error;
}

/* Of a damaged chunk only the loss of its records is reported. */
static int append_loss(struct join *join, struct fg_spool_chunk *chunk)
{
    const struct fg_rows_header no_rows = {0};
    uint64_t offset;

    join->joined.damaged++;
    if (chunk->type != FG_SPOOL_DATA)
        return 0;
    fg_damage_lose_records(chunk);
    return fg_spool_append(&join->spool, chunk, &no_rows, sizeof(no_rows), &offset);
}

static int copy_chunk(struct join *join, const struct fg_join_part *part, const struct fg_spool_place *place)
{
    struct fg_spool_chunk chunk = place->chunk;
    int error;

    if (chunk.ring >= FG_CONTENTS_MAX_RINGS - join->nr_rings)
        return -ENOSPC;
    error = fg_reading_add(join->reading, sizeof(chunk) + chunk.stored_bytes);
    if (error < 0)
        return error;
    error = fg_damage_read(part->fd, place, &join->stored);
    chunk.ring += join->nr_rings;
    if (error == 0)
        error = fg_spool_append_stored(&join->spool, &chunk, join->stored.data);
    else if (error == -EBADMSG)
        error = append_loss(join, &chunk);
    if (error == 0 && chunk.type == FG_SPOOL_RING && part->host_name)
        error = append_host(join, part, chunk.ring);
    join->joined.records += chunk.type == FG_SPOOL_DATA ? chunk.nr_records : 0;
    return error;
}

/* Of no ring, or said anew. */
static bool is_replaced(uint8_t type)
{
    return type == FG_SPOOL_CLOCK || type == FG_SPOOL_META || type == FG_SPOOL_HOST;
}

static int copy_part(struct join *join, const struct fg_join_part *part)
{
    struct fg_spool_index index;
    uint32_t nr_rings = 0;
    int error = fg_spool_index_read(part->fd, &index);

    for (size_t i = 0; i < index.nr_places && error == 0; i++) {
        if (is_replaced(index.places[i].chunk.type))
            continue;
        error = copy_chunk(join, part, &index.places[i]);
        if (index.places[i].chunk.ring >= nr_rings)
            nr_rings = index.places[i].chunk.ring + 1;
    }
    join->joined.damaged += index.nr_gaps;
    join->nr_rings += nr_rings;
    fg_spool_index_free(&index);
    return error;
}

/* All times are on one host's CLOCK_MONOTONIC: the clock needs no pairs. */
static int append_clock(struct join *join)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_CLOCK};
    const struct fg_spool_clock clock = {.clock = FG_TRACE_CLOCK_MONO};
    uint64_t offset;

    return fg_spool_append(&join->spool, &chunk, &clock, sizeof(clock), &offset);
}

/* @meta is the text of an object. How many places are damaged becomes its first member. */
static int append_meta(struct join *join, const char *meta, size_t bytes)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_META};
    struct fg_text text = {0};
    uint64_t offset;
    int error;

    if (bytes > 0 && join->joined.damaged) {
        fg_text_puts(&text, "{");
        fg_json_number(&text, "damaged", join->joined.damaged);
        fg_text_puts(&text, ", ");
        fg_text_put(&text, meta + 1, bytes - 1);
    } else {
        fg_text_put(&text, meta, bytes);
    }
    error = text.failed ? -ENOMEM : fg_spool_append(&join->spool, &chunk, text.data, text.bytes, &offset);
    fg_text_free(&text);
    return error;
}

static int join_into(struct join *join, int fd, const struct fg_join_part *parts, size_t nr_parts,
                     size_t *failed)
{
    int error = fg_spool_create_in(&join->spool, fd);
    struct stat facts;

    for (size_t i = 0; i < nr_parts; i++)
        if (fstat(parts[i].fd, &facts) == 0)
            fg_reading_expect(join->reading, facts.st_size);
    if (error == 0)
        error = append_clock(join);
    for (size_t i = 0; i < nr_parts && error == 0; i++) {
        error = copy_part(join, &parts[i]);
        if (error < 0)
            *failed = i;
    }
    return error;
}

int fg_join(const struct fg_join_part *parts, size_t nr_parts, const char *meta, size_t meta_bytes,
            const char *path, struct fg_reading *reading, struct fg_joined *joined, size_t *failed)
{
    struct join join = {.spool.fd = -1, .reading = reading};
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    *failed = nr_parts;
    if (error < 0)
        return error;
    error = join_into(&join, file.fd, parts, nr_parts, failed);
    if (error == 0)
        error = append_meta(&join, meta, meta_bytes);
    if (error == 0)
        error = fg_spool_complete(&join.spool);
    *joined = join.joined;
    fg_text_free(&join.stored);
    fg_spool_close(&join.spool);
    if (error < 0)
        fg_new_file_discard(&file);
    else
        error = fg_new_file_publish(&file);
    return error;
}
