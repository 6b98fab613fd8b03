/* Is a chunk's header sound? Who reads one from a file asks this before believing anything in it. */
#ifndef FG_CHUNK_CHECK_H
#define FG_CHUNK_CHECK_H

#include <stdbool.h>

#include "tracedata/base/crc32.h"
#include "tracedata/spool/chunk.h"

static inline uint32_t fg_chunk_header_crc(struct fg_spool_chunk chunk)
{
    chunk.header_crc = 0;
    return fg_crc32(0, &chunk, sizeof(chunk));
}

static inline bool fg_chunk_is_sound(const struct fg_spool_chunk *chunk)
{
    return chunk->magic == FG_SPOOL_CHUNK_MAGIC && chunk->type >= FG_SPOOL_RING &&
           chunk->type < FG_SPOOL_CHUNKS_END && chunk->stored_bytes <= FG_SPOOL_MAX_BYTES &&
           chunk->bytes <= FG_SPOOL_MAX_BYTES && chunk->header_crc == fg_chunk_header_crc(*chunk);
}

#endif
