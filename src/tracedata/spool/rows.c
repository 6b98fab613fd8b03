/* See rows.h. */
#include "tracedata/spool/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/spool/record_check.h"

#define MAX_VARINT 10u /* bytes of a u64 */
#define PLAIN_WORDS 3u /* of a return without a value; an entry has fewer */

/* The most that one row takes of a stream; it may be of a record of 16 bytes. */
static const uint8_t most_bytes[FG_ROWS_STREAMS] = {
    [FG_ROWS_CODES] = 2,
    [FG_ROWS_FUNCTIONS] = 5,
    [FG_ROWS_TIMES] = 3 * MAX_VARINT,
    [FG_ROWS_WORDS] = 4 * MAX_VARINT,
};

enum part { BEGINS, ENDS, OTHER };

/* What a kind of record means for its row. */
static const struct kind {
    uint8_t part;
    bool names_function;
    uint8_t fixed_words;
    bool has_time; /* as its first fixed word */
    bool has_halves;
    bool has_bytes; /* what follows the fixed words is no value */
} kinds[16] = {
#define X(name, value, words, text, bits)                                                                    \
    [(value)] = {.part = (bits)&FG_KIND_BEGIN ? BEGINS                                                       \
                         : (bits)&FG_KIND_END ? ENDS                                                         \
                                              : OTHER,                                                       \
                 .names_function = ((bits)&FG_KIND_FUNC_IN_ROW) != 0,                                        \
                 .fixed_words = (words),                                                                     \
                 .has_time = ((bits)&FG_KIND_TIME) != 0,                                                     \
                 .has_halves = ((bits)&FG_KIND_HALVES) != 0,                                                 \
                 .has_bytes = ((bits)&FG_KIND_BYTES) != 0},
    FG_RECORD_KINDS(X)
#undef X
};

#define DEPTH_MASK FG_RECORD_MAX_DEPTH
#define CODE_BITS 0x7fu /* of a record's info: kind, has_start, has_values, irq */

static inline uint32_t expected_depth(const struct fg_row_state *state, uint32_t part)
{
    if (part == BEGINS)
        return state->open_calls;
    return part == ENDS ? (state->open_calls - 1) & DEPTH_MASK : state->flat_depth;
}

static inline uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ -(value & 1);
}

/* ---- packing */

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    while (fg_unlikely(value >= 0x80)) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static int packer_reserve(struct fg_row_packer *packer, size_t bytes)
{
    size_t most = bytes / (2 * FG_RECORD_WORD_BYTES), room = sizeof(struct fg_rows_header) + bytes;
    uint8_t *grown;

    if (packer->rows && bytes <= packer->capacity)
        return 0;
    for (int i = 0; i < FG_ROWS_STREAMS; i++)
        room += most * most_bytes[i];
    /* The streams lie behind the room for them all in one piece. */
    grown = realloc(packer->rows, 2 * room);
    if (grown == NULL)
        return -ENOMEM;
    packer->rows = grown;
    packer->capacity = bytes;
    grown += room;
    for (int i = 0; i < FG_ROWS_STREAMS; i++) {
        packer->streams[i] = grown;
        grown += most * most_bytes[i];
    }
    return 0;
}

/* Where the next bytes of each stream go. */
struct ends {
    uint8_t *at[FG_ROWS_STREAMS];
};

#define PUT(ends, stream, value) ((ends)->at[stream] = put_varint((ends)->at[stream], (value)))

static inline void pack_fixed(struct ends *ends, const struct fg_record *record, const struct kind *kind,
                              const uint64_t *words)
{
    if (kind->has_time) {
        PUT(ends, FG_ROWS_TIMES, zigzag(record->time - words[0]));
    } else if (kind->has_halves) {
        for (uint32_t i = 0; i < kind->fixed_words; i++) {
            PUT(ends, FG_ROWS_WORDS, (uint32_t)words[i]);
            PUT(ends, FG_ROWS_WORDS, words[i] >> 32);
        }
    } else {
        for (uint32_t i = 0; i < kind->fixed_words; i++)
            PUT(ends, FG_ROWS_WORDS, words[i]);
    }
}

static inline void pack_rest(struct ends *ends, const uint64_t *words, size_t nr_words)
{
    PUT(ends, FG_ROWS_WORDS, nr_words);
    memcpy(ends->at[FG_ROWS_VALUES], words, nr_words * FG_RECORD_WORD_BYTES);
    ends->at[FG_ROWS_VALUES] += nr_words * FG_RECORD_WORD_BYTES;
}

static inline void pack_record(struct fg_row_state *state, struct ends *ends, const struct fg_record *record)
{
    const uint64_t *words = (const uint64_t *)(record + 1);
    const uint32_t info = record->info, depth = fg_record_depth(info);
    const struct kind *kind = &kinds[fg_record_kind(info)];
    const bool has_start = (info & FG_RECORD_HAS_START) != 0;
    const size_t rest = fg_record_words(info) - 2 - kind->fixed_words - has_start;
    const bool is_end = kind->part == ENDS;
    uint32_t expected = expected_depth(state, kind->part), surprise = 0;
    uint64_t passed = record->time - state->time;
    bool has_count = (info & FG_RECORD_HAS_VALUES) || kind->has_bytes;
    uint32_t func = is_end ? state->slots[depth % FG_ROWS_SLOTS].func : 0;

    if (fg_unlikely(depth != expected))
        surprise |= FG_ROW_DEPTH;
    if (fg_unlikely(!kind->names_function && record->func != func))
        surprise |= FG_ROW_FUNCTION;
    if (fg_unlikely(is_end && words[0] != state->slots[depth % FG_ROWS_SLOTS].time))
        surprise |= FG_ROW_BEGAN;
    if (fg_unlikely(!has_count && rest != 0))
        surprise |= FG_ROW_REST;
    if (fg_unlikely((int64_t)passed < 0)) {
        surprise |= FG_ROW_BACKWARDS;
        passed = -passed;
    }
    *ends->at[FG_ROWS_CODES]++ = (uint8_t)((info & CODE_BITS) | (surprise ? FG_ROW_HAS_SURPRISE : 0));
    if (fg_unlikely(surprise))
        *ends->at[FG_ROWS_CODES]++ = (uint8_t)surprise;
    PUT(ends, FG_ROWS_TIMES, passed);
    if (fg_unlikely(surprise & FG_ROW_DEPTH))
        PUT(ends, FG_ROWS_WORDS, zigzag((uint64_t)((int64_t)depth - (int64_t)expected)));
    if (kind->names_function || (surprise & FG_ROW_FUNCTION))
        PUT(ends, FG_ROWS_FUNCTIONS, record->func);
    if (kind->fixed_words && (!is_end || (surprise & FG_ROW_BEGAN)))
        pack_fixed(ends, record, kind, words);
    words += kind->fixed_words;
    if (has_start)
        PUT(ends, FG_ROWS_TIMES, zigzag(record->time - *words++));
    if (fg_unlikely(has_count || (surprise & FG_ROW_REST)))
        pack_rest(ends, words, rest);
    state->time = record->time;
    if (kind->part == BEGINS) {
        state->slots[depth % FG_ROWS_SLOTS].func = record->func;
        state->slots[depth % FG_ROWS_SLOTS].time = record->time;
        state->open_calls = (depth + 1) & DEPTH_MASK;
    } else if (is_end) {
        state->open_calls = depth;
    } else {
        state->flat_depth = depth;
    }
}

int fg_rows_pack(struct fg_row_packer *packer, const void *records, size_t bytes)
{
    const uint64_t *at = records, *end = at + bytes / FG_RECORD_WORD_BYTES;
    struct fg_rows_header header = {0};
    struct ends ends;
    uint8_t *to;

    if (packer_reserve(packer, bytes) < 0)
        return -ENOMEM;
    memcpy(ends.at, packer->streams, sizeof(ends.at));
    packer->state = (struct fg_row_state){0};
    for (; at < end; at += fg_record_words(((const struct fg_record *)at)->info), header.nr_rows++)
        pack_record(&packer->state, &ends, (const struct fg_record *)at);
    to = packer->rows + sizeof(header);
    for (int i = 0; i < FG_ROWS_STREAMS; i++) {
        header.bytes[i] = (uint32_t)(ends.at[i] - packer->streams[i]);
        memcpy(to, packer->streams[i], header.bytes[i]);
        to += header.bytes[i];
    }
    memcpy(packer->rows, &header, sizeof(header));
    packer->bytes = (size_t)(to - packer->rows);
    return 0;
}

void fg_row_packer_free(struct fg_row_packer *packer)
{
    free(packer->rows);
    *packer = (struct fg_row_packer){0};
}

/* ---- unpacking */

/* Where the next bytes of each stream come from. A row may read beyond its stream's end, into the next one
 * or the slack: that is seen once the row is complete. */
struct fronts {
    const uint8_t *at[FG_ROWS_STREAMS], *end[FG_ROWS_STREAMS];
};

/* A number, and what is after it. It is returned in registers, unlike what a pointer is passed to. */
struct varint {
    uint64_t value;
    const uint8_t *after;
};

FG_NOINLINE static struct varint get_long_varint(const uint8_t *at)
{
    uint64_t result = *at & 0x7f;

    for (unsigned shift = 7; *at++ & 0x80 && shift < 7 * MAX_VARINT; shift += 7)
        result |= (uint64_t)(*at & 0x7f) << shift;
    return (struct varint){result, at};
}

static inline struct varint get_varint(const uint8_t *at)
{
    if (fg_likely(*at < 0x80))
        return (struct varint){*at, at + 1};
    if (fg_likely(at[1] < 0x80))
        return (struct varint){(at[0] & 0x7fu) | (uint64_t)at[1] << 7, at + 2};
    return get_long_varint(at);
}

static inline uint64_t get(struct fronts *fronts, enum fg_rows_stream stream)
{
    struct varint varint = get_varint(fronts->at[stream]);

    fronts->at[stream] = varint.after;
    return varint.value;
}

static inline bool is_within(const struct fronts *fronts)
{
    return fronts->at[FG_ROWS_CODES] <= fronts->end[FG_ROWS_CODES] &&
           fronts->at[FG_ROWS_FUNCTIONS] <= fronts->end[FG_ROWS_FUNCTIONS] &&
           fronts->at[FG_ROWS_TIMES] <= fronts->end[FG_ROWS_TIMES] &&
           fronts->at[FG_ROWS_WORDS] <= fronts->end[FG_ROWS_WORDS];
}

/* The payload words of CALL_AT and of kinds that are neither begin nor end of a call. */
static inline void unpack_fixed(struct fronts *fronts, const struct kind *kind, uint64_t time,
                                uint64_t *words)
{
    if (kind->has_time) {
        words[0] = time - unzigzag(get(fronts, FG_ROWS_TIMES));
    } else if (kind->has_halves) {
        for (uint32_t i = 0; i < kind->fixed_words; i++) {
            words[i] = (uint32_t)get(fronts, FG_ROWS_WORDS);
            words[i] |= get(fronts, FG_ROWS_WORDS) << 32;
        }
    } else {
        for (uint32_t i = 0; i < kind->fixed_words; i++)
            words[i] = get(fronts, FG_ROWS_WORDS);
    }
}

/* Unpacks one row to @record, which has room for FG_RECORD_MAX_WORDS. Return: its words, or 0 for what is no
 * row. */
static inline size_t unpack_row(struct fg_row_state *state, struct fronts *fronts, struct fg_record *record)
{
    const uint32_t code = *fronts->at[FG_ROWS_CODES]++;
    const uint32_t surprise = code & FG_ROW_HAS_SURPRISE ? *fronts->at[FG_ROWS_CODES]++ : 0;
    const struct kind *kind = &kinds[code & 15u];
    const bool is_end = kind->part == ENDS;
    uint64_t *words = (uint64_t *)(record + 1), time = get(fronts, FG_ROWS_TIMES), rest = 0;
    uint32_t func = 0, depth = expected_depth(state, kind->part);
    size_t nr_words;

    if (fg_unlikely(fg_record_least_words[code & 15u] == 0))
        return 0;
    time = state->time + (surprise & FG_ROW_BACKWARDS ? -time : time);
    if (fg_unlikely(surprise & FG_ROW_DEPTH))
        depth = (uint32_t)(depth + unzigzag(get(fronts, FG_ROWS_WORDS))) & DEPTH_MASK;
    if (kind->names_function || fg_unlikely(surprise & FG_ROW_FUNCTION))
        func = (uint32_t)get(fronts, FG_ROWS_FUNCTIONS);
    else if (is_end)
        func = state->slots[depth % FG_ROWS_SLOTS].func;
    if (is_end && fg_likely(!(surprise & FG_ROW_BEGAN)))
        words[0] = state->slots[depth % FG_ROWS_SLOTS].time;
    else if (kind->fixed_words)
        unpack_fixed(fronts, kind, time, words);
    words += kind->fixed_words;
    if (code & FG_RECORD_HAS_START)
        *words++ = time - unzigzag(get(fronts, FG_ROWS_TIMES));
    nr_words = (size_t)(words - (uint64_t *)record);
    if (fg_unlikely((code & FG_RECORD_HAS_VALUES) || (surprise & FG_ROW_REST) || kind->has_bytes)) {
        rest = get(fronts, FG_ROWS_WORDS);
        if (rest > FG_RECORD_MAX_WORDS - nr_words ||
            rest * FG_RECORD_WORD_BYTES > (size_t)(fronts->end[FG_ROWS_VALUES] - fronts->at[FG_ROWS_VALUES]))
            return 0;
        if ((code & 15u) == FG_RECORD_EVENT && !fg_event_fields_fit((uint64_t *)(record + 1), rest))
            return 0;
        memcpy(words, fronts->at[FG_ROWS_VALUES], rest * FG_RECORD_WORD_BYTES);
        fronts->at[FG_ROWS_VALUES] += rest * FG_RECORD_WORD_BYTES;
    }
    nr_words += rest;
    record->time = time;
    record->func = func;
    record->info = FG_RECORD_INFO(code & CODE_BITS, nr_words, depth);
    state->time = time;
    if (kind->part == BEGINS) {
        state->slots[depth % FG_ROWS_SLOTS].func = func;
        state->slots[depth % FG_ROWS_SLOTS].time = time;
        state->open_calls = (depth + 1) & DEPTH_MASK;
    } else if (is_end) {
        state->open_calls = depth;
    } else {
        state->flat_depth = depth;
    }
    return nr_words;
}

/* The fewest of: rows that are left, codes that are left, and records for which there is room. */
static inline size_t most_plain_rows(const struct fronts *fronts, size_t nr_rows, size_t words)
{
    const size_t codes = (size_t)(fronts->end[FG_ROWS_CODES] - fronts->at[FG_ROWS_CODES]);
    const size_t most = codes < nr_rows ? codes : nr_rows;

    return words / PLAIN_WORDS < most ? words / PLAIN_WORDS : most;
}

/* Unpacks plain entries and returns, which most rows are, until another kind of row, or the end of a
 * stream: unpack_row() goes on from there. Out of line, so that all variables have registers. Return: how
 * many. */
FG_NOINLINE static uint32_t unpack_plain_rows(struct fg_row_state *state, struct fronts *fronts,
                                              uint64_t **to, size_t most)
{
    const uint8_t *code = fronts->at[FG_ROWS_CODES], *const last_code = code + most;
    const uint8_t *function = fronts->at[FG_ROWS_FUNCTIONS], *times = fronts->at[FG_ROWS_TIMES];
    const uint8_t *const functions_end = fronts->end[FG_ROWS_FUNCTIONS];
    const uint8_t *const times_end = fronts->end[FG_ROWS_TIMES];
    uint64_t time = state->time, *at = *to;
    struct varint passed, func;
    uint32_t depth = state->open_calls; /* its upper bits have no place in a record */

    for (; code < last_code && times < times_end; code++) {
        struct fg_record *record = (struct fg_record *)at;

        if (*code == FG_RECORD_ENTRY && function < functions_end) {
            passed = get_varint(times);
            times = passed.after;
            time += passed.value;
            func = get_varint(function);
            function = func.after;
            *record =
                (struct fg_record){time, (uint32_t)func.value, FG_RECORD_INFO(FG_RECORD_ENTRY, 2, depth)};
            state->slots[depth % FG_ROWS_SLOTS].func = (uint32_t)func.value;
            state->slots[depth % FG_ROWS_SLOTS].time = time;
            depth++;
            at += 2;
        } else if (*code == FG_RECORD_RETURN) {
            passed = get_varint(times);
            times = passed.after;
            time += passed.value;
            depth--;
            *record = (struct fg_record){time, state->slots[depth % FG_ROWS_SLOTS].func,
                                         FG_RECORD_INFO(FG_RECORD_RETURN, 3, depth)};
            at[2] = state->slots[depth % FG_ROWS_SLOTS].time;
            at += 3;
        } else {
            break;
        }
    }
    most = (size_t)(code - fronts->at[FG_ROWS_CODES]);
    fronts->at[FG_ROWS_CODES] = code;
    fronts->at[FG_ROWS_FUNCTIONS] = function;
    fronts->at[FG_ROWS_TIMES] = times;
    state->time = time;
    state->open_calls = depth & DEPTH_MASK;
    *to = at;
    return (uint32_t)most;
}

/* False: the streams do not fit into the rows. */
static bool find_streams(struct fronts *fronts, const struct fg_rows_header *header, const uint8_t *rows,
                         size_t bytes)
{
    const uint8_t *at = rows + sizeof(*header);
    uint64_t all = sizeof(*header);

    for (int i = 0; i < FG_ROWS_STREAMS; i++)
        all += header->bytes[i];
    if (all != bytes)
        return false;
    for (int i = 0; i < FG_ROWS_STREAMS; i++) {
        fronts->at[i] = at;
        at += header->bytes[i];
        fronts->end[i] = at;
    }
    return true;
}

int fg_rows_unpack(struct fg_row_state *state, const uint8_t *rows, size_t bytes, void *records, size_t room,
                   size_t *record_bytes)
{
    uint64_t last[FG_RECORD_MAX_WORDS], *at = records, *end = at + room / FG_RECORD_WORD_BYTES;
    struct fg_rows_header header;
    struct fronts fronts;

    if (bytes < sizeof(header))
        return -EBADMSG;
    memcpy(&header, rows, sizeof(header));
    if (!find_streams(&fronts, &header, rows, bytes))
        return -EBADMSG;
    *state = (struct fg_row_state){0};
    for (uint32_t i = 0; i < header.nr_rows; i++) {
        bool has_room;
        uint64_t *to;
        size_t words;

        i += unpack_plain_rows(state, &fronts, &at,
                               most_plain_rows(&fronts, header.nr_rows - i, (size_t)(end - at)));
        if (i == header.nr_rows)
            break;
        has_room = end - at >= (ptrdiff_t)FG_RECORD_MAX_WORDS;
        to = has_room ? at : last;
        words = unpack_row(state, &fronts, (struct fg_record *)to);
        if (fg_unlikely(words == 0 || !is_within(&fronts) || words > (size_t)(end - at)))
            return -EBADMSG;
        if (fg_unlikely(!has_room))
            memcpy(at, last, words * FG_RECORD_WORD_BYTES);
        at += words;
    }
    for (int i = 0; i < FG_ROWS_STREAMS; i++)
        if (fronts.at[i] != fronts.end[i])
            return -EBADMSG;
    *record_bytes = (size_t)(at - (uint64_t *)records) * FG_RECORD_WORD_BYTES;
    return 0;
}
