/* See spool_bytes.h. */
#undef NDEBUG
#define _GNU_SOURCE
#include "support/spool_bytes.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/ring/field.h"
#include "engine/ring/record.h"
#include "support/seed.h"
#include "tracedata/base/file_io.h"
#include "tracedata/spool/chunk_check.h"
#include "tracedata/spool/rows.h"
#include "tracedata/spool/spool.h"

uint64_t fg_test_chance(void)
{
    static uint64_t state;

    if (!state)
        state = UINT64_C(88172645463325252) * fg_test_seed() | 1;
    return fg_test_random(&state);
}

void fg_test_put_symbol(struct fg_text *symbols, struct fg_symbol symbol, const char *const strings[])
{
    size_t begin = symbols->bytes;

    fg_text_put(symbols, (const char *)&symbol, sizeof(symbol));
    for (uint32_t i = 0; i < symbol.nr_strings; i++)
        fg_text_put(symbols, strings[i], strlen(strings[i]) + 1);
    fg_text_fill(symbols, 0, -(symbols->bytes - begin) & 7u);
    symbol.bytes = (uint32_t)(symbols->bytes - begin);
    memcpy(symbols->data + begin, &symbol, sizeof(symbol));
}

static void put_event_type(struct fg_text *symbols, uint32_t id, uint32_t fields_at);

static void put_symbols(struct fg_text *symbols)
{
    static const char *const argv[] = {"/usr/bin/python3", "app.py"};
    static const char *const names[] = {"main", "worker", "other"};

    fg_test_put_symbol(symbols, (struct fg_symbol){.type = FG_SYMBOL_PROCESS, .tid = 1, .nr_strings = 2},
                       argv);
    for (uint32_t id = 0; id < SPOOL_NR_FUNCTIONS; id++) {
        char qualname[16];
        const char *strings[] = {"m", qualname, "/src/m.py", "self,n"};

        snprintf(qualname, sizeof(qualname), "f%u", id);
        fg_test_put_symbol(symbols,
                           (struct fg_symbol){.type = FG_SYMBOL_FUNC, .id = id, .line = id, .nr_strings = 4},
                           strings);
    }
    for (uint32_t task = 0; task < SPOOL_NR_TASKS; task++)
        fg_test_put_symbol(
            symbols,
            (struct fg_symbol){.type = FG_SYMBOL_TASK, .id = task, .tid = 100 + task, .nr_strings = 1},
            &names[task]);
    for (uint32_t id = 1; id <= 3; id++)
        put_event_type(symbols, id, 8 * id);
}

/* A kind of event with all types of fields, as single ones and as arrays. */
static void put_event_type(struct fg_text *symbols, uint32_t id, uint32_t fields_at)
{
    static const char *const types[] = {
#define X(type, name, bytes) name,
        FG_FIELD_TYPES(X)
#undef X
    };
    const char *strings[] = {"system", id % 2 ? "odd" : "even", NULL};
    uint32_t at = fields_at;
    struct fg_text fields = {0};
    char line[64];

    for (uint32_t i = 0; i < 2 * FG_NR_FIELD_TYPES; i++) {
        uint32_t count = i % 2 ? id : 0;

        snprintf(line, sizeof(line), "%s%s f%u %u %u", i ? ";" : "", types[i / 2], i, count, at);
        fg_text_puts(&fields, line);
        at += (count ? count : 1) * fg_field_element_bytes((enum fg_field_type)(i / 2));
    }
    fg_text_char(&fields, 0);
    assert(!fields.failed);
    strings[2] = fields.data;
    fg_test_put_symbol(
        symbols, (struct fg_symbol){.type = FG_SYMBOL_EVENT, .id = id, .line = fields_at, .nr_strings = 3},
        strings);
    fg_text_free(&fields);
}

/* Makes the words of an EVENT's fields: numbers, places in the image, and tagged values. Return: how many. */
static uint32_t make_fields(uint64_t *words)
{
    uint32_t nr_words = (uint32_t)(fg_test_chance() % 4 ? 30 + fg_test_chance() % 60 : fg_test_chance() % 30);

    for (uint32_t i = 0; i < nr_words; i++) {
        uint64_t place = 200 + fg_test_chance() % 400, bytes = fg_test_chance() % 40;

        words[i] = fg_test_chance() % 2 ? (place | bytes << 16) * UINT64_C(0x100000001)
                                        : (fg_test_chance() % 15) | fg_test_chance() % 30 << 8;
    }
    return nr_words;
}

/* An event of one of three kinds, or of one that has no symbol. */
static void put_event(struct fg_text *data, uint64_t time)
{
    uint64_t payload[FG_RECORD_MAX_WORDS] = {0, fg_test_chance() % SPOOL_NR_FUNCTIONS};
    uint32_t words = make_fields(payload + 2);
    struct fg_record record = {.time = time,
                               .func = (uint32_t)(fg_test_chance() % (SPOOL_NR_FUNCTIONS + 1)),
                               .info = FG_RECORD_INFO(FG_RECORD_EVENT, 4 + words, fg_test_chance() % 10)};

    payload[0] = fg_test_chance() % 5 | (uint64_t)(words * 8 - fg_test_chance() % (words * 8 + 1) / 8) << 32;
    fg_text_put(data, (const char *)&record, sizeof(record));
    fg_text_put(data, (const char *)payload, (2 + words) * sizeof(*payload));
}

/* A record of any kind, with start and values as it comes. */
static void put_record(struct fg_text *data, uint64_t time)
{
    static const uint8_t fixed_words[] = {
#define X(name, value, words, text, bits) [value] = (words),
        FG_RECORD_KINDS(X)
#undef X
    };
    uint32_t kind = (uint32_t)(fg_test_chance() % sizeof(fixed_words)), words = 2u + fixed_words[kind],
             flags = 0;
    struct fg_record record = {.time = time, .func = (uint32_t)(fg_test_chance() % (SPOOL_NR_FUNCTIONS + 1))};
    uint64_t payload[FG_RECORD_MAX_WORDS] = {time - fg_test_chance() % 1000};

    if (kind == FG_RECORD_EVENT) {
        put_event(data, time);
        return;
    }
    if (fg_test_chance() % 4 == 0) {
        flags |= FG_RECORD_HAS_START;
        words++;
    }
    if (fg_test_chance() % 4 == 0) {
        flags |= FG_RECORD_HAS_VALUES;
        words += (uint32_t)(fg_test_chance() % (fg_test_chance() % 8 ? 4 : FG_RECORD_MAX_WORDS - words));
    }
    record.info = FG_RECORD_INFO(kind | flags, words, fg_test_chance() % 10);
    fg_text_put(data, (const char *)&record, sizeof(record));
    fg_text_put(data, (const char *)payload, (words - 2u) * sizeof(*payload));
}

/* Changes the byte at @at, or the word that it lies in. */
static void change(char *data, uint64_t at)
{
    static const uint64_t words[] = {0,  1,          7,          8,          UINT32_MAX,          UINT64_MAX,
                                     64, 1ull << 31, 1ull << 32, 1ull << 62, FG_SPOOL_CHUNK_MAGIC};

    if (fg_test_chance() % 2)
        memcpy(data + at / 8 * 8, &words[fg_test_chance() % (sizeof(words) / sizeof(*words))], 8);
    else
        data[at] = (char)fg_test_chance();
}

static bool damages; /* payloads, before they are compressed */

static void append(struct fg_spool *spool, struct fg_spool_chunk chunk, const void *payload, size_t bytes)
{
    uint64_t offset;
    char *copy = malloc(bytes);

    assert(copy);
    memcpy(copy, payload, bytes);
    if (damages && fg_test_chance() % 4 == 0)
        for (uint64_t times = 1 + fg_test_chance() % 3; times > 0; times--)
            change(copy, fg_test_chance() % (bytes - 8));
    assert(fg_spool_append(spool, &chunk, copy, bytes, &offset) == 0);
    free(copy);
}

static void append_data(struct fg_spool *spool, uint64_t seq)
{
    uint64_t time = 1000000 + seq * 100000;
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_DATA,
                                   .task = (uint32_t)(seq % SPOOL_NR_TASKS),
                                   .seq = seq,
                                   .lost = seq % 5 == 4,
                                   .nr_records = 40};
    struct fg_row_packer rows = {0};
    struct fg_text data = {0};

    chunk.first_ticks = time;
    for (int i = 0; i < 40; i++)
        put_record(&data, chunk.last_ticks = time + (uint64_t)i * 1000);
    assert(fg_rows_pack(&rows, data.data, data.bytes) == 0);
    chunk.record_bytes = (uint32_t)data.bytes;
    append(spool, chunk, rows.rows, rows.bytes);
    fg_row_packer_free(&rows);
    fg_text_free(&data);
}

void fg_test_make_damaged_spool(struct fg_text *whole, uint32_t codec)
{
    damages = true;
    fg_test_make_spool(whole, codec);
    damages = false;
}

void fg_test_make_spool(struct fg_text *whole, uint32_t codec)
{
    int fd = memfd_create("spool", MFD_CLOEXEC);
    struct fg_spool_ring ring = {
        .pid = 99, .clock_kind = FG_CLOCK_TSC, .clock_start = {1000000, 5000000}, .name_bytes = 9};
    struct fg_spool_state state = {
        .clock_latest = {9000000, 8000000}, .nr_tasks = SPOOL_NR_TASKS, .killed_bytes = 4};
    struct fg_text payload = {0};
    struct fg_spool spool;

    assert(fd >= 0 && fg_spool_create_in(&spool, fd) == 0);
    spool.packer.codec = fg_codec_by_id(codec);
    fg_text_put(&payload, (const char *)&ring, sizeof(ring));
    fg_text_lit(&payload, "99.0.ring");
    append(&spool, (struct fg_spool_chunk){.type = FG_SPOOL_RING}, payload.data, payload.bytes);
    payload.bytes = 0;
    put_symbols(&payload);
    append(&spool, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS}, payload.data, payload.bytes);
    for (uint64_t seq = 0; seq < 9; seq++)
        append_data(&spool, seq);
    payload.bytes = 0;
    fg_text_put(&payload, (const char *)&state, sizeof(state));
    fg_text_lit(&payload, "oops");
    append(&spool, (struct fg_spool_chunk){.type = FG_SPOOL_STATE}, payload.data, payload.bytes);
    assert(fg_spool_complete(&spool) == 0);
    spool.end += sizeof(struct fg_spool_footer);
    assert(fg_text_reserve(whole, spool.end));
    assert(fg_file_read(spool.fd, whole->data, spool.end, 0) == 0);
    whole->bytes = spool.end;
    fg_spool_close(&spool);
    fg_text_free(&payload);
    close(fd);
}

/* Gives all chunks that are still found the checksums of what they have now. */
void fg_test_mend_checksums(struct fg_text *spool)
{
    for (size_t at = sizeof(struct fg_spool_header); at + sizeof(struct fg_spool_chunk) <= spool->bytes;
         at += 8) {
        struct fg_spool_chunk chunk;

        memcpy(&chunk, spool->data + at, sizeof(chunk));
        if (chunk.magic != FG_SPOOL_CHUNK_MAGIC || chunk.stored_bytes > spool->bytes - at - sizeof(chunk))
            continue;
        chunk.payload_crc = fg_crc32(0, spool->data + at + sizeof(chunk), chunk.stored_bytes);
        chunk.header_crc = fg_chunk_header_crc(chunk);
        memcpy(spool->data + at, &chunk, sizeof(chunk));
    }
}

void fg_test_damage_spool(struct fg_text *spool)
{
    uint64_t times = fg_test_chance() % 30;

    while (times-- > 0)
        change(spool->data, sizeof(struct fg_spool_header) + fg_test_chance() % (spool->bytes - 24));
    if (fg_test_chance() % 2)
        fg_test_mend_checksums(spool);
    if (fg_test_chance() % 8 == 0)
        spool->bytes = sizeof(struct fg_spool_header) +
                       fg_test_chance() % (spool->bytes - sizeof(struct fg_spool_header));
}
