/* See lane_chunks.h. */
#include "tracedata/make/lane_chunks.h"

#include <errno.h>

#include "tracedata/base/file_io.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/wire.h"

#define ALL_CHUNKS_BYTES                                                                                     \
    (16u << 20) /* one of each lane, unless they then were smaller than CHUNK_MIN_BYTES */
#define CHUNK_MAX_BYTES (64u * FG_WIRE_PAGE_BYTES)
#define CHUNK_MIN_BYTES (16u * FG_WIRE_PAGE_BYTES)

int fg_lane_chunks_init(struct fg_lane_chunks *chunks, const struct fg_codec *codec, uint32_t nr_lanes)
{
    uint32_t bytes = ALL_CHUNKS_BYTES / (nr_lanes ? nr_lanes : 1);

    bytes -= bytes % FG_WIRE_PAGE_BYTES;
    if (bytes < CHUNK_MIN_BYTES)
        bytes = CHUNK_MIN_BYTES;
    if (bytes > CHUNK_MAX_BYTES)
        bytes = CHUNK_MAX_BYTES;
    *chunks = (struct fg_lane_chunks){.codec = codec, .chunk_bytes = bytes};
    chunks->state = codec->state_new_dense(codec);
    return chunks->state ? 0 : -ENOMEM;
}

void fg_lane_chunks_free(struct fg_lane_chunks *chunks)
{
    if (chunks->codec)
        chunks->codec->state_free(chunks->state);
    fg_text_free(&chunks->packed);
    *chunks = (struct fg_lane_chunks){0};
}

/* Appends one chunk to what is to be written. */
static int pack(struct fg_lane_chunks *chunks, const unsigned char *pages, size_t bytes)
{
    struct fg_text *packed = &chunks->packed;
    struct fg_dat_block block = {.bytes = (uint32_t)bytes};
    size_t room = chunks->codec->bound(bytes);
    int64_t written;

    if (!fg_text_reserve(packed, sizeof(block) + room))
        return -ENOMEM;
    written = chunks->codec->compress(chunks->state, packed->data + packed->bytes + sizeof(block), room,
                                      pages, bytes);
    if (written < 0)
        return (int)written;
    block.packed_bytes = (uint32_t)written;
    memcpy(packed->data + packed->bytes, &block, sizeof(block));
    packed->bytes += sizeof(block) + (size_t)written;
    chunks->count++;
    return 0;
}

int fg_lane_chunks_write(struct fg_lane_chunks *chunks, int fd, const unsigned char *pages, size_t bytes,
                         uint64_t *offset)
{
    int error = 0;

    if (chunks->count == 0) {
        chunks->begin = *offset;
        *offset += sizeof(chunks->count); /* fg_lane_chunks_end() writes it */
    }
    chunks->packed.bytes = 0;
    for (size_t at = 0, n; at < bytes && error == 0; at += n) {
        n = bytes - at < chunks->chunk_bytes ? bytes - at : chunks->chunk_bytes;
        error = pack(chunks, pages + at, n);
    }
    if (error == 0)
        error = fg_file_write(fd, chunks->packed.data, chunks->packed.bytes, *offset);
    *offset += chunks->packed.bytes;
    return error;
}

int fg_lane_chunks_end(struct fg_lane_chunks *chunks, int fd)
{
    uint32_t count = chunks->count;

    chunks->count = 0;
    return count ? fg_file_write(fd, &count, sizeof(count), chunks->begin) : 0;
}
