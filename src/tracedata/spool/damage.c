/* See damage.h. */
#include "tracedata/spool/damage.h"

#include <errno.h>

#include "engine/base/array.h"
#include "tracedata/base/crc32.h"
#include "tracedata/base/file_io.h"

int fg_damage_read(int fd, const struct fg_spool_place *place, struct fg_text *stored)
{
    size_t bytes = place->chunk.stored_bytes;
    int error;

    stored->bytes = 0;
    if (!fg_text_reserve(stored, bytes + 1))
        return -ENOMEM;
    error = fg_file_read(fd, stored->data, bytes, place->offset + sizeof(place->chunk));
    if (error == 0 && fg_crc32(0, stored->data, bytes) != place->chunk.payload_crc)
        error = -EBADMSG;
    return error;
}

/* The flag stands for one record more after those that `lost` counts. */
void fg_damage_lose_records(struct fg_spool_chunk *chunk)
{
    chunk->lost += chunk->nr_records ? chunk->nr_records - 1 : 0;
    chunk->flags |= FG_SPOOL_DAMAGED;
    chunk->nr_records = 0;
    chunk->record_bytes = 0;
}

/* A recovery that was killed has reported it already. */
static bool is_reported(const struct fg_spool_index *index, const struct fg_spool_chunk *lost)
{
    for (size_t i = 0; i < index->nr_places; i++) {
        const struct fg_spool_chunk *chunk = &index->places[i].chunk;

        if (chunk->type == FG_SPOOL_DATA && chunk->ring == lost->ring && chunk->task == lost->task &&
            chunk->seq == lost->seq)
            return true;
    }
    return false;
}

static void forget_reported(const struct fg_spool_index *index, struct fg_spool_chunk *lost, size_t *nr_lost)
{
    size_t n = 0;

    for (size_t i = 0; i < *nr_lost; i++)
        if (!is_reported(index, &lost[i]))
            lost[n++] = lost[i];
    *nr_lost = n;
}

int fg_damage_take_out(int fd, struct fg_spool_index *index, struct fg_spool_chunk **lost, size_t *nr_lost)
{
    struct fg_text stored = {0};
    size_t n = 0, capacity = 0;
    int error = 0;

    *lost = NULL;
    *nr_lost = 0;
    for (size_t i = 0; i < index->nr_places && error >= 0; i++) {
        error = fg_damage_read(fd, &index->places[i], &stored);
        if (error == 0) {
            index->places[n++] = index->places[i];
            continue;
        }
        if (error != -EBADMSG)
            break;
        error = 0;
        if (index->places[i].chunk.type != FG_SPOOL_DATA)
            index->nr_gaps++;
        else if (fg_array_reserve(lost, &capacity, *nr_lost + 1) < 0)
            error = -ENOMEM;
        else
            (*lost)[(*nr_lost)++] = index->places[i].chunk;
    }
    fg_text_free(&stored);
    index->nr_places = n;
    forget_reported(index, *lost, nr_lost);
    return error;
}
