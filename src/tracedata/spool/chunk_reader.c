/* See chunk_reader.h. */
#include "tracedata/spool/chunk_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/base/crc32.h"
#include "tracedata/base/file_io.h"
#include "tracedata/spool/chunk_check.h"

/* Room for @bytes and the slack of rows. */
static bool make_room(struct fg_text *text, size_t bytes)
{
    text->bytes = 0;
    return fg_text_reserve(text, bytes + FG_ROWS_SLACK);
}

static int take_payload(struct fg_chunk_reader *reader, const struct fg_spool_chunk *chunk)
{
    const char *stored = reader->stored.data + sizeof(*chunk);

    if (fg_crc32(0, stored, chunk->stored_bytes) != chunk->payload_crc)
        return -EBADMSG;
    if (!make_room(&reader->payload, chunk->bytes))
        return -ENOMEM;
    memset(reader->payload.data + chunk->bytes, 0, FG_ROWS_SLACK);
    return fg_unpack(&reader->unpacker, chunk->codec, reader->payload.data, chunk->bytes, stored,
                     chunk->stored_bytes);
}

int fg_chunk_read(struct fg_chunk_reader *reader, uint64_t offset, uint32_t stored_bytes,
                  struct fg_spool_chunk *chunk)
{
    int error;

    if (stored_bytes > FG_SPOOL_MAX_BYTES)
        return -EBADMSG;
    if (!make_room(&reader->stored, sizeof(*chunk) + stored_bytes))
        return -ENOMEM;
    error = fg_file_read(reader->fd, reader->stored.data, sizeof(*chunk) + stored_bytes, offset);
    if (error < 0)
        return error;
    memcpy(chunk, reader->stored.data, sizeof(*chunk));
    if (!fg_chunk_is_sound(chunk) || chunk->stored_bytes != stored_bytes)
        return -EBADMSG;
    return take_payload(reader, chunk);
}

/* Of what was there nothing is kept: a lane of small sub-buffers takes little memory. */
static int reserve_records(struct fg_chunk_reader *reader, size_t bytes)
{
    if (reader->records && bytes <= reader->records_bytes)
        return 0;
    free(reader->records);
    reader->records = malloc(bytes + 1);
    reader->records_bytes = reader->records ? bytes : 0;
    return reader->records ? 0 : -ENOMEM;
}

int fg_chunk_read_records(struct fg_chunk_reader *reader, uint64_t offset, uint32_t stored_bytes,
                          struct fg_spool_chunk *chunk)
{
    size_t bytes = 0;
    int error = fg_chunk_read(reader, offset, stored_bytes, chunk);

    if (error == 0 && (chunk->type != FG_SPOOL_DATA || chunk->record_bytes > FG_RING_SUBBUF_BYTES_MAX))
        error = -EBADMSG;
    if (error == 0)
        error = reserve_records(reader, chunk->record_bytes);
    if (error == 0)
        error = fg_rows_unpack(&reader->rows, (const uint8_t *)reader->payload.data, chunk->bytes,
                               reader->records, chunk->record_bytes, &bytes);
    if (error == 0 && bytes != chunk->record_bytes)
        error = -EBADMSG;
    return error;
}

void fg_chunk_reader_free(struct fg_chunk_reader *reader)
{
    fg_text_free(&reader->stored);
    fg_text_free(&reader->payload);
    fg_unpacker_free(&reader->unpacker);
    free(reader->records);
    reader->records = NULL;
    reader->records_bytes = 0;
}
