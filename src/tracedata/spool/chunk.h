/* The layout of a `.fg` file: a trace that only grows.
 *
 *     +------------------------+ 0
 *     | struct fg_spool_header |
 *     +------------------------+ 16
 *     | struct fg_spool_chunk  |  72 bytes: what the payload is, and of which ring
 *     | payload                |  chunk.stored_bytes, and zeros up to a multiple of 8
 *     +------------------------+
 *     | ...                    |
 *     +------------------------+
 *     | a DIRECTORY chunk      |  in a complete file: all chunks before it
 *     | struct fg_spool_footer |  where that lies
 *     +------------------------+
 *
 * Any prefix of it is a trace: what a record needs (its ring, its symbols) lies before it, and a chunk is
 * whole or it does not count. A file without a footer is read from chunk to chunk.
 *
 * What only the whole session tells is not in the file but made by its readers: the line from ticks to
 * nanoseconds, which functions of several processes are one, lanes.
 *
 * All numbers are little-endian. docs/reference/trace-file.md describes the file for who writes another
 * reader. */
#ifndef FG_CHUNK_H
#define FG_CHUNK_H

#include <stdint.h>

#include "engine/ring/ring_layout.h"
#include "tracedata/base/trace_clock.h"

#define FG_SPOOL_MAGIC "FGTRACE\1"       /* the last byte is the version */
#define FG_SPOOL_CHUNK_MAGIC 0x4b434746u /* "FGCK" */
#define FG_SPOOL_FOOTER_MAGIC "FGFOOTER"

/* X(type, value, payload) */
#define FG_SPOOL_CHUNKS(X)                                                                                   \
    X(RING, 1, "struct fg_spool_ring, then the ring file's name: a ring of this number was added")           \
    X(SYMBOLS, 2, "struct fg_symbol ... as in the ring file, in its order, each once")                       \
    X(DATA, 3, "the records of one sub-buffer as rows (rows.h)")                                             \
    X(STATE, 4, "struct fg_spool_state, then the kill switch's message: the ring's latest counts")           \
    X(CLOCK, 5, "struct fg_spool_clock: the trace's clock and its time now; belongs to no ring")             \
    X(META, 6, "a JSON object: what the recording was asked for; the last one counts; of no ring")           \
    X(DIRECTORY, 7, "struct fg_spool_place ...: the chunks before it, in their order; of no ring")           \
    X(HOST, 8, "struct fg_spool_host, then the host's name: where the ring's process ran; in merged traces")

enum fg_spool_chunk_type {
#define X(name, value, payload) FG_SPOOL_##name = (value),
    FG_SPOOL_CHUNKS(X)
#undef X
        FG_SPOOL_CHUNKS_END
};

struct fg_spool_header {
    char magic[8];
    uint64_t bytes; /* of the complete file; 0: it was not complete yet */
};

/* Flags of a chunk */
#define FG_SPOOL_DAMAGED 1u /* DATA: the rest of the sub-buffer was not sound records, and was left out */
/* STATE: the counts when this file began, in the middle of a recording. The file before has what they count.
 * The ring's later counts go on from them: the file's own are the differences. */
#define FG_SPOOL_BASE 2u

struct fg_spool_chunk {
    uint32_t magic;
    uint8_t type;  /* enum fg_spool_chunk_type */
    uint8_t codec; /* enum fg_codec_id: how the payload is compressed */
    uint16_t flags;
    uint32_t ring;         /* numbered from 0 in the order in which they were added */
    uint32_t stored_bytes; /* of the payload in the file */
    uint32_t bytes;        /* of the payload, decompressed */
    uint32_t payload_crc;  /* CRC-32 of the stored payload */
    uint32_t header_crc;   /* CRC-32 of this header, with 0 here */
    /* DATA only */
    uint32_t task;
    uint32_t nr_records; /* without LOST marks */
    uint32_t record_bytes;
    uint64_t seq;  /* of the sub-buffer: a task's are in order of it */
    uint64_t lost; /* records of this task lost just before the first one here */
    uint64_t first_ticks, last_ticks;
};

struct fg_spool_ring {
    uint32_t pid;
    uint32_t clock_kind; /* enum fg_clock_kind */
    struct fg_clock_pair clock_start;
    char instance[FG_INSTANCE_NAME_BYTES]; /* ended by a NUL; empty for the top instance */
    uint64_t name_bytes;
};

struct fg_spool_clock {
    uint64_t clock; /* enum fg_trace_clock */
    struct fg_trace_clock_pair now;
};

struct fg_spool_state {
    struct fg_clock_pair clock_latest;
    uint64_t records_lost;
    uint64_t overrun;
    uint64_t wait_count, wait_ticks;
    uint64_t symbols_lost;
    uint32_t nr_tasks;
    uint32_t finished;
    uint64_t killed_bytes;
};

/* Rings of one host have one number, and clocks that agree. The host's CLOCK_MONOTONIC is brought onto the
 * trace's line by two instants of it, of which the second may be that of the first. */
struct fg_spool_host {
    uint32_t host;
    uint32_t name_bytes;
    struct fg_trace_clock_pair first, last; /* `clock_ns` is on the trace's line */
    uint64_t error_ns;                      /* the line may be so far off; FG_SPOOL_ERROR_UNKNOWN */
};

#define FG_SPOOL_ERROR_UNKNOWN UINT64_MAX

/* In the file a place has 0 for the chunk's magic number: who looks for chunks in a damaged or cut directory
 * must not take its places for them. */
struct fg_spool_place {
    uint64_t offset; /* of the chunk */
    struct fg_spool_chunk chunk;
};

struct fg_spool_footer {
    uint64_t offset; /* of the directory's chunk */
    char magic[8];
};

/* No chunk's payload is larger, in the file or decompressed: a reader needs no more memory than this. */
#define FG_SPOOL_MAX_BYTES (64u << 20)
/* Limits of what a reader keeps, as little data can decompress to much. All symbols together have at most so
 * many bytes, and so many more for each byte that they take in the file. */
#define FG_SPOOL_MAX_SYMBOL_BYTES (16u << 20)
#define FG_SPOOL_MAX_SYMBOL_RATIO 32u
#define FG_SPOOL_MAX_META_BYTES (16u << 20)
#define FG_SPOOL_MAX_TEXT_BYTES 4096u /* of a ring file's name, of the kill switch's message */

_Static_assert(sizeof(struct fg_spool_header) == 16, "the file's layout");
_Static_assert(sizeof(struct fg_spool_chunk) == 72, "the file's layout");
_Static_assert(sizeof(struct fg_spool_place) == 80, "the file's layout");
_Static_assert(sizeof(struct fg_spool_footer) == 16, "the file's layout");

/* Bytes from one chunk's header to the next one's. */
static inline uint64_t fg_spool_chunk_extent(const struct fg_spool_chunk *chunk)
{
    return sizeof(*chunk) + (((uint64_t)chunk->stored_bytes + 7) & ~UINT64_C(7));
}

#endif
