/* Promises: rows give back every record that was packed, word by word, whatever it is; damaged rows are
 * refused or give sound records, and nothing is read or written beyond what they have. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ring/record.h"
#include "tracedata/spool/record_check.h"
#include "tracedata/spool/rows.h"

#define WORDS 8192u /* of a sub-buffer */

static uint64_t seed = 88172645463325252u;

static uint64_t random_bits(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static uint64_t below(uint64_t limit)
{
    return random_bits() % limit;
}

/* Appends a record of any kind with any contents. Return: its words. */
static size_t any_record(uint64_t *at, size_t room)
{
    static const uint32_t nr_kinds = FG_RECORD_EVENT + 1;
    struct fg_record *record = (struct fg_record *)at;
    uint32_t kind = (uint32_t)below(nr_kinds), bits = kind | (uint32_t)below(8) << 4;
    size_t least = 2 + fg_record_fixed_words((enum fg_record_kind)kind) + ((bits & FG_RECORD_HAS_START) != 0);
    size_t words = least + (below(3) ? 0 : below(FG_RECORD_MAX_WORDS - least + 1));

    if (words > room)
        return 0;
    record->time = random_bits() >> below(64);
    record->func = (uint32_t)(random_bits() >> below(64));
    record->info = FG_RECORD_INFO(bits, words, random_bits() >> (46 + below(18)));
    for (size_t i = 2; i < words; i++)
        at[i] = random_bits() >> below(64);
    if (kind == FG_RECORD_EVENT) /* the bytes of its fields lie in the record */
        at[2] = (uint32_t)at[2] | below((words - least) * FG_RECORD_WORD_BYTES + 1) << 32;
    return words;
}

static size_t any_records(uint64_t *records, size_t room)
{
    size_t words = 0, more;

    while ((more = any_record(records + words, room - words)) > 0)
        words += more;
    return words;
}

/* Calls as a program makes them; some do not end, and some of the ends are of calls before. */
static size_t calls(uint64_t *records, size_t room)
{
    static uint64_t began[64], time = UINT64_C(1) << 50;
    static uint32_t funcs[64], depth = 5;
    size_t words = 0;

    while (words + 3 <= room) {
        bool ends = depth && (depth == 63 || below(2));
        struct fg_record *record = (struct fg_record *)(records + words);

        time += 20 + below(300);
        if (!ends) {
            began[depth] = time;
            funcs[depth] = (uint32_t)below(200);
            *record = (struct fg_record){time, funcs[depth], FG_RECORD_INFO(FG_RECORD_ENTRY, 2, depth)};
            depth++;
            words += 2;
        } else {
            depth--;
            *record = (struct fg_record){time, funcs[depth], FG_RECORD_INFO(FG_RECORD_RETURN, 3, depth)};
            records[words + 2] = began[depth];
            words += 3;
        }
    }
    return words;
}

/* The rows in memory of exactly their size and the slack, so that a sanitizer sees a step beyond it. */
static uint8_t *copy_rows(const struct fg_row_packer *packer)
{
    uint8_t *rows = malloc(packer->bytes + FG_ROWS_SLACK);

    assert(rows);
    memcpy(rows, packer->rows, packer->bytes);
    memset(rows + packer->bytes, 0xff, FG_ROWS_SLACK);
    return rows;
}

static void assert_round_trip(struct fg_row_packer *packer, const uint64_t *records, size_t words)
{
    static struct fg_row_state state;
    size_t bytes = words * FG_RECORD_WORD_BYTES, unpacked_bytes;
    uint64_t *unpacked = malloc(bytes + 1);
    uint8_t *rows;

    assert(unpacked && fg_rows_pack(packer, records, bytes) == 0);
    rows = copy_rows(packer);
    assert(fg_rows_unpack(&state, rows, packer->bytes, unpacked, bytes, &unpacked_bytes) == 0);
    assert(unpacked_bytes == bytes && memcmp(unpacked, records, bytes) == 0);
    if (bytes)
        assert(fg_rows_unpack(&state, rows, packer->bytes, unpacked, bytes - 8, &unpacked_bytes) == -EBADMSG);
    free(rows);
    free(unpacked);
}

static void assert_sound(const uint64_t *records, size_t bytes)
{
    const uint64_t *at = records, *end = at + bytes / FG_RECORD_WORD_BYTES;

    while (at < end) {
        const struct fg_record *record = (const struct fg_record *)at;

        assert(end - at >= 2 && fg_record_is_sound(record, (size_t)(end - at)));
        at += fg_record_words(record->info);
    }
}

static void assert_damage_is_harmless(struct fg_row_packer *packer, const uint64_t *records, size_t words)
{
    static struct fg_row_state state;
    size_t bytes = words * FG_RECORD_WORD_BYTES, unpacked_bytes, rows_bytes;
    uint64_t *unpacked = malloc(bytes + 1);
    uint8_t *rows;

    assert(unpacked && fg_rows_pack(packer, records, bytes) == 0);
    rows = copy_rows(packer);
    rows_bytes = packer->bytes;
    for (uint64_t flips = 1 + below(4); flips; flips--)
        rows[below(rows_bytes)] = (uint8_t)random_bits();
    if (below(4) == 0) {
        rows_bytes = below(rows_bytes);
        rows = realloc(rows, rows_bytes + FG_ROWS_SLACK);
        assert(rows);
    }
    if (fg_rows_unpack(&state, rows, rows_bytes, unpacked, bytes, &unpacked_bytes) == 0)
        assert_sound(unpacked, unpacked_bytes);
    free(rows);
    free(unpacked);
}

/* An event whose fields end with the record, and one whose fields are a byte longer. */
static void assert_fields_lie_in_their_record(struct fg_row_packer *packer)
{
    static struct fg_row_state state;
    uint64_t words[6] = {1000, 0, 7, 3, 5, 6}, unpacked[6];
    struct fg_record *record = (struct fg_record *)words;
    size_t bytes;

    record->info = FG_RECORD_INFO(FG_RECORD_EVENT, 6, 2);
    words[2] |= UINT64_C(16) << 32;
    assert(fg_record_is_sound(record, 6) && !fg_record_is_sound(record, 5));
    assert_round_trip(packer, words, 6);
    words[2] += UINT64_C(1) << 32;
    assert(!fg_record_is_sound(record, 6));
    assert(fg_rows_pack(packer, words, sizeof(words)) == 0);
    assert(fg_rows_unpack(&state, packer->rows, packer->bytes, unpacked, sizeof(unpacked), &bytes) ==
           -EBADMSG);
}

int main(void)
{
    static uint64_t records[WORDS];
    struct fg_row_packer packer = {0};

    assert_round_trip(&packer, records, 0);
    assert_fields_lie_in_their_record(&packer);
    for (int i = 0; i < 300; i++) {
        size_t room = below(WORDS);

        assert_round_trip(&packer, records, any_records(records, room));
        assert_round_trip(&packer, records, calls(records, room));
    }
    /* The last ones fill a sub-buffer: a program's calls take few bytes. */
    assert(packer.bytes > 0);
    assert_round_trip(&packer, records, calls(records, WORDS));
    assert(packer.bytes < 4 * WORDS * 2 / 5);
    for (int i = 0; i < 3000; i++) {
        size_t room = below(i % 16 ? 300 : WORDS) + 1;

        assert_damage_is_harmless(&packer, records,
                                  i % 2 ? any_records(records, room) : calls(records, room));
    }
    fg_row_packer_free(&packer);
    return 0;
}
