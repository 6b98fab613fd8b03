/* Rows: the records of a sub-buffer (record.h) in few bytes, for a DATA chunk. Packing loses nothing.
 *
 * What the records before it make likely is left out of a row: the depth of a call, and at its end its
 * function and when it began. The fields of all rows lie in five streams, since a compressor does best
 * with bytes of one kind:
 *
 *     +----------------------------+ 0
 *     | u32 number of rows         |
 *     | u32 bytes of each stream   |  five of them
 *     +----------------------------+ 24
 *     | codes                      |  a byte for each row, and its surprises
 *     | functions                  |  varints: who is called
 *     | times                      |  varints: ticks since the row before, ...
 *     | words                      |  varints: payload words, ...
 *     | values                     |  as they are in the records, in words of 8 bytes
 *     +----------------------------+
 *
 * A varint has seven bits a byte, the low ones first, bit 7 set in all bytes but the last. A signed one is
 * zigzag: 0, -1, 1, -2 as 0, 1, 2, 3.
 *
 * A row, in this order (the stream in parentheses):
 *
 *     (codes)      u8: bits 0 to 3 the record's kind, 4 has_start, 5 has_values, 6 irq, as in the
 *                  record's info; bit 7: a byte of FG_ROW_ bits follows
 *     (times)      time: ticks since the record before (the first: since 0); with FG_ROW_BACKWARDS:
 *                  before it
 *     (words)      with FG_ROW_DEPTH, signed: the depth less the expected one. That is, with L open calls:
 *                  L where a call begins or resumes, L - 1 where it ends, the depth of the last record of
 *                  another kind for those. L is then the depth of the record, and 1 more if it began.
 *     (functions)  func, if the kind names one (FG_ROW_NAMES) or with FG_ROW_FUNCTION. Else it is that of
 *                  the call which began last at this depth for the end of a call, and 0 for the rest.
 *     the fixed payload words of the kind:
 *       (times)    a time: signed, the record's time less it; of the end of a call only with
 *                  FG_ROW_BEGAN, else it is the time at which a call began last at this depth
 *       (words)    each word of CALL_AT and EVENT: two varints, low half and high half
 *       (words)    any other
 *     (times)      start, if has_start: signed, the record's time less it
 *     (words)      the number of 8-byte words that are left, if has_values, with FG_ROW_REST, or for MARK and
 *                  EVENT
 *     (values)     those words
 *
 * "At this depth" is the depth modulo 256: 256 slots, which are all 0 at first. */
#ifndef FG_ROWS_H
#define FG_ROWS_H

#include <stddef.h>
#include <stdint.h>

/* X(name, bit, meaning): what a row has that was not to be expected. */
#define FG_ROW_SURPRISES(X)                                                                                  \
    X(DEPTH, 1, "the depth")                                                                                 \
    X(FUNCTION, 2, "a function where none is expected, or another one")                                      \
    X(BEGAN, 4, "when the call that ends began")                                                             \
    X(REST, 8, "payload words though it has no values")                                                      \
    X(BACKWARDS, 16, "a time before that of the row before")

enum fg_row_surprise {
#define X(name, value, text) FG_ROW_##name = (value),
    FG_ROW_SURPRISES(X)
#undef X
};

#define FG_ROW_HAS_SURPRISE 0x80u

#define FG_ROWS_STREAMS 5
enum fg_rows_stream {
    FG_ROWS_CODES,
    FG_ROWS_FUNCTIONS,
    FG_ROWS_TIMES,
    FG_ROWS_WORDS,
    FG_ROWS_VALUES,
};

struct fg_rows_header {
    uint32_t nr_rows;
    uint32_t bytes[FG_ROWS_STREAMS];
};

/* What packing or unpacking keeps from one row to the next. */
#define FG_ROWS_SLOTS 256u
struct fg_row_state {
    uint64_t time;
    uint32_t open_calls; /* L */
    uint32_t flat_depth; /* of the last record that neither begins nor ends a call */
    struct {
        uint64_t time;
        uint32_t func;
    } slots[FG_ROWS_SLOTS];
};

struct fg_row_packer {
    struct fg_row_state state;
    uint8_t *rows; /* the packed rows, header first */
    size_t bytes;
    size_t capacity; /* of the records that there is room for, in bytes */
    uint8_t *streams[FG_ROWS_STREAMS];
};

/* Packs sound records (record_check.h) into packer->rows, of packer->bytes. A packer that is all zeros is
 * ready for use. Return: 0 or -ENOMEM. */
int fg_rows_pack(struct fg_row_packer *packer, const void *records, size_t bytes);
void fg_row_packer_free(struct fg_row_packer *packer);

/* So many bytes after the rows must be readable. */
#define FG_ROWS_SLACK 64u

/* Unpacks rows into @records, which has @room bytes. *record_bytes is set to what they take. Rows that are
 * unpacked have sound records. Return: 0; -EBADMSG: these are no rows, or their records take more room. */
int fg_rows_unpack(struct fg_row_state *state, const uint8_t *rows, size_t bytes, void *records, size_t room,
                   size_t *record_bytes);

#endif
