/* Reads chunks: checks and decompresses their payload, and unpacks the records of DATA chunks. */
#ifndef FG_CHUNK_READER_H
#define FG_CHUNK_READER_H

#include "engine/ring/ring_layout.h"
#include "tracedata/base/packing.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/chunk.h"
#include "tracedata/spool/rows.h"

/* A reader that is all zeros but for its file is ready for use. */
struct fg_chunk_reader {
    int fd;
    struct fg_text stored, payload;
    struct fg_unpacker unpacker;
    struct fg_row_state rows;
    uint64_t *records;    /* of one sub-buffer */
    size_t records_bytes; /* that there is room for */
};

/**
 * fg_chunk_read() - Read one chunk.
 * @offset: where it lies in the file
 * @stored_bytes: of its payload
 * @chunk: set to its header
 *
 * Return: 0, and reader->payload.data has chunk->bytes; -EBADMSG: it is damaged; -ENOTSUP: it is
 * compressed in a way that nothing here can decompress; or another negative errno.
 */
int fg_chunk_read(struct fg_chunk_reader *reader, uint64_t offset, uint32_t stored_bytes,
                  struct fg_spool_chunk *chunk);

/* The same for a DATA chunk: reader->records has chunk->record_bytes of sound records. */
int fg_chunk_read_records(struct fg_chunk_reader *reader, uint64_t offset, uint32_t stored_bytes,
                          struct fg_spool_chunk *chunk);

void fg_chunk_reader_free(struct fg_chunk_reader *reader);

#endif
