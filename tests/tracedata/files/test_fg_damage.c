/* Promise: whatever a .fg holds, reading it ends, with all that is whole or with an error, never beyond a
 * buffer, and in little memory. A whole one is cut at each byte and damaged at random, thousands of times;
 * some are made so that they ask for much. For the sanitizers (make asan); without them the memory has a
 * limit. */
#undef NDEBUG
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/ring/record.h"
#include "support/selections.h"
#include "support/spool_bytes.h"
#include "tracedata/base/file_io.h"
#include "tracedata/read/trace_file.h"
#include "tracedata/spool/chunk_check.h"
#include "tracedata/spool/rows.h"
#include "tracedata/text/report.h"
#include "tracedata/view/summary.h"

/* A sanitizer reserves more addresses than there are: it finds reads and writes, with fewer and smaller
 * files. The plain build finds the memory. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#else
#define IS_SANITIZED 0
#endif

#define IS_NIGHT (getenv("FUNCGRAPH_NIGHTLY") != NULL)
#define ROUNDS (IS_NIGHT ? 3000 : 250)
#define PREFIX_STEP (IS_NIGHT ? 1u : 13u)
#define NR_BOMBS (IS_SANITIZED ? 10u : 100u) /* of 8 MiB: more than MEMORY_BYTES */
#define NR_RINGS (IS_SANITIZED ? 1000u : FG_CONTENTS_MAX_RINGS)
#define NR_EVENT_TYPES (IS_SANITIZED ? 1000u : 70000u)
#define NR_LANES (IS_SANITIZED ? 300u : 5000u)
#define MEMORY_BYTES (UINT64_C(640) << 20)
#define TEXT_BYTES (4u << 20) /* a damaged depth can make lines of a megabyte */

static void limit_memory(void)
{
    struct rlimit limit = {MEMORY_BYTES, MEMORY_BYTES};

    assert(IS_SANITIZED || setrlimit(RLIMIT_AS, &limit) == 0);
}

static int read_report(struct fg_trace_file *file, struct fg_name_table *names)
{
    struct fg_report_style *styles = calloc(file->nr_buffers, sizeof(*styles));
    struct fg_report *report = NULL;
    struct fg_text text = {0};
    struct fg_merge merge;
    size_t bytes = 0;
    int result = fg_merge_open(&merge, file, names);

    assert(styles);
    if (result == 0)
        result = fg_report_new(styles, file->nr_buffers, 0, &merge, &report);
    if (result == 0) {
        do {
            result = fg_report_next(report, &text, 64u << 10);
            bytes += text.bytes;
        } while (result == 1 && bytes < TEXT_BYTES);
    }
    assert(result == 0 || result == 1 || (result == -EINVAL && merge.reason[0]));
    fg_report_free(report);
    free(styles);
    fg_merge_close(&merge);
    fg_text_free(&text);
    return result < 0 ? result : 0;
}

static int read_summary(struct fg_trace_file *file, struct fg_name_table *names)
{
    struct fg_summary *summary = NULL;
    struct fg_merge merge;
    int result = fg_merge_open(&merge, file, names);

    if (result == 0)
        result = fg_summary_new(&merge, &summary);
    if (result == 0) {
        do
            result = fg_summary_run(summary, 1000);
        while (result == 1);
    }
    assert(result == 0 || (result == -EINVAL && merge.reason[0]));
    fg_summary_free(summary);
    fg_merge_close(&merge);
    return result;
}

/* Reads all of the file. Return: 0, or -EINVAL: it is no trace, or damaged. */
static int read_fd(int fd, uint64_t *nr_rings)
{
    char reason[FG_REASON_BYTES];
    struct fg_trace_file file;
    struct fg_name_table names;
    int error = fg_trace_file_open_fd(fd, &file, reason), other;

    if (error) {
        assert(error == -EINVAL && reason[0]);
        return error;
    }
    assert(file.recorded && file.meta_bytes > 2);
    if (nr_rings)
        *nr_rings = file.recorded->contents.nr_rings;
    assert(fg_name_table_init(&names, 1, 1) == 0);
    assert(fg_name_table_set_function(&names, 0, "m.f", 3, "a,*args", 7, 0) == 0);
    assert(fg_name_table_sort(&names) == 0);
    names.select_unknown = true;
    error = read_report(&file, &names);
    other = read_summary(&file, &names);
    assert(error == other || error == 0); /* the report may end before the damage */
    assert(read_selected_calls(&file, &names, 0) == other);
    read_selected_calls(&file, &names, (uint32_t)rand() % 128);
    read_folded(&file, &names, 1);
    fg_name_table_free(&names);
    fg_trace_file_close(&file);
    return other;
}

static int read_bytes(const char *data, size_t bytes)
{
    int fd = memfd_create("trace", MFD_CLOEXEC), result;

    assert(fd >= 0 && fg_file_write(fd, data, bytes, 0) == 0);
    result = read_fd(fd, NULL);
    close(fd);
    return result;
}

/* ---- truncated, and damaged at random */

static void any_prefix_is_a_trace(const struct fg_text *whole)
{
    int fd = memfd_create("trace", MFD_CLOEXEC);

    assert(fd >= 0 && fg_file_write(fd, whole->data, whole->bytes, 0) == 0);
    assert(read_fd(fd, NULL) == 0);
    for (size_t cut = 1; cut <= whole->bytes; cut += PREFIX_STEP) {
        size_t bytes = whole->bytes - cut;

        assert(ftruncate(fd, (off_t)bytes) == 0);
        assert(read_fd(fd, NULL) == (bytes < sizeof(struct fg_spool_header) ? -EINVAL : 0));
    }
    close(fd);
}

static void damaged_files_are_read(const struct fg_text *whole)
{
    struct fg_text copy = {0};
    int nr_errors = 0;

    for (int i = 0; i < ROUNDS; i++) {
        copy.bytes = 0;
        fg_text_put(&copy, whole->data, whole->bytes);
        fg_test_damage_spool(&copy);
        nr_errors += read_bytes(copy.data, copy.bytes) < 0;
    }
    assert(nr_errors > ROUNDS / 10 && nr_errors < ROUNDS);
    fg_text_free(&copy);
}

static void payloads_damaged_before_compression_are_read(uint32_t codec)
{
    struct fg_text whole = {0};
    int nr_errors = 0;

    for (int i = 0; i < ROUNDS; i++) {
        whole.bytes = 0;
        fg_test_make_damaged_spool(&whole, codec);
        nr_errors += read_bytes(whole.data, whole.bytes) < 0;
    }
    assert(nr_errors > ROUNDS / 20 && nr_errors < ROUNDS);
    fg_text_free(&whole);
}

/* ---- made to ask for much */

static void begin(struct fg_text *file)
{
    file->bytes = 0;
    fg_text_put(file, FG_SPOOL_MAGIC, sizeof(struct fg_spool_header) / 2);
    fg_text_fill(file, 0, sizeof(struct fg_spool_header) / 2);
}

/* Appends a chunk with sound checksums. Its payload is as it is in the file; `bytes` of the header is kept,
 * unless it is 0. Return: where the chunk lies. */
static size_t put_chunk(struct fg_text *file, struct fg_spool_chunk chunk, const void *stored,
                        size_t stored_bytes)
{
    size_t at = file->bytes;

    chunk.magic = FG_SPOOL_CHUNK_MAGIC;
    chunk.stored_bytes = (uint32_t)stored_bytes;
    chunk.bytes = chunk.bytes ? chunk.bytes : (uint32_t)stored_bytes;
    chunk.payload_crc = fg_crc32(0, stored, stored_bytes);
    chunk.header_crc = fg_chunk_header_crc(chunk);
    fg_text_put(file, (const char *)&chunk, sizeof(chunk));
    fg_text_put(file, stored, stored_bytes);
    fg_text_fill(file, 0, -stored_bytes & 7u);
    assert(!file->failed);
    return at;
}

/* Appends a chunk of so many bytes, compressed as far as they can be. */
static void put_bomb(struct fg_text *file, struct fg_spool_chunk chunk, const char *payload, size_t bytes)
{
    struct fg_packer packer = {0};
    const void *packed;
    size_t packed_bytes;

    assert(fg_pack(&packer, payload, bytes, &packed, &packed_bytes) == 0);
    assert(packed_bytes < bytes / 100); /* there is a codec */
    chunk.codec = (uint8_t)packer.codec->id;
    chunk.bytes = (uint32_t)bytes;
    put_chunk(file, chunk, packed, packed_bytes);
    fg_packer_free(&packer);
}

static char *fill_bomb(char with, size_t bytes)
{
    char *bomb = malloc(bytes);

    assert(bomb);
    memset(bomb, with, bytes);
    return bomb;
}

/* A chunk of each type that is, or claims to be, as large as one may be. */
static void large_chunks_take_their_size(void)
{
    struct fg_text file = {0};

    begin(&file);
    for (int type = FG_SPOOL_RING; type <= FG_SPOOL_DIRECTORY; type++)
        put_chunk(&file,
                  (struct fg_spool_chunk){.type = (uint8_t)type,
                                          .codec = FG_CODEC_ZSTD,
                                          .bytes = FG_SPOOL_MAX_BYTES,
                                          .nr_records = UINT32_MAX,
                                          .record_bytes = UINT32_MAX,
                                          .last_ticks = 1},
                  "nothing", 7);
    assert(read_bytes(file.data, file.bytes) == -EINVAL);
    begin(&file);
    for (int type = FG_SPOOL_RING; type <= FG_SPOOL_DIRECTORY; type++)
        for (int with = 0; with < 3; with++) {
            char *bomb = fill_bomb("\0 \xff"[with], FG_SPOOL_MAX_BYTES);

            put_bomb(&file,
                     (struct fg_spool_chunk){.type = (uint8_t)type, .record_bytes = 16, .last_ticks = 1},
                     bomb, FG_SPOOL_MAX_BYTES);
            free(bomb);
        }
    assert(read_bytes(file.data, file.bytes) == -EINVAL);
    fg_text_free(&file);
}

/* Symbols with the longest strings, in many chunks. */
static void many_symbols_are_not_believed(void)
{
    static const uint16_t types[] = {FG_SYMBOL_FUNC, FG_SYMBOL_TASK, FG_SYMBOL_PROCESS, FG_SYMBOL_EVENT};
    const size_t bytes = 8u << 20;
    char *bomb = fill_bomb(',', bytes);
    struct fg_text file = {0};

    for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++) {
        begin(&file);
        for (uint32_t n = 0; n < NR_BOMBS; n++) {
            struct fg_symbol symbol = {
                .bytes = (uint32_t)bytes, .type = types[i], .id = n, .line = n, .nr_strings = 4};

            memcpy(bomb, &symbol, sizeof(symbol));
            bomb[sizeof(symbol)] = bomb[sizeof(symbol) + 1] = bomb[sizeof(symbol) + 2] = bomb[bytes - 1] = 0;
            put_bomb(&file, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS, .ring = n}, bomb, bytes);
        }
        assert(read_bytes(file.data, file.bytes) == -EINVAL);
    }
    free(bomb);
    fg_text_free(&file);
}

/* Texts of many rings. */
static void long_texts_are_not_believed(void)
{
    const size_t bytes = 8u << 20;
    char *bomb = fill_bomb('a', bytes);
    struct fg_spool_state state = {.killed_bytes = bytes - sizeof(state)};
    struct fg_spool_ring ring = {.name_bytes = bytes - sizeof(ring)};
    struct fg_text file = {0};

    begin(&file);
    for (uint32_t n = 0; n < NR_BOMBS; n++) {
        memcpy(bomb, &ring, sizeof(ring));
        put_bomb(&file, (struct fg_spool_chunk){.type = FG_SPOOL_RING, .ring = n}, bomb, bytes);
        memset(bomb, 'a', sizeof(ring));
        memcpy(bomb, &state, sizeof(state));
        put_bomb(&file, (struct fg_spool_chunk){.type = FG_SPOOL_STATE, .ring = n}, bomb, bytes);
    }
    assert(read_bytes(file.data, file.bytes) == -EINVAL);
    free(bomb);
    fg_text_free(&file);
}

/* The largest ids in as many rings as there may be, with counters of their own. */
static void large_numbers_take_little(void)
{
    struct fg_symbol symbol = {.bytes = sizeof(symbol), .type = FG_SYMBOL_FUNC, .id = 1u << 24};
    struct fg_spool_ring ring = {.clock_kind = FG_CLOCK_TSC, .clock_start = {1, 1}};
    struct fg_text file = {0};
    uint64_t nr_rings;
    int fd;

    begin(&file);
    for (uint32_t n = 0; n < NR_RINGS; n++) {
        ring.instance[0] = (char)('a' + n % 7);
        put_chunk(&file, (struct fg_spool_chunk){.type = FG_SPOOL_RING, .ring = n}, &ring, sizeof(ring));
        put_chunk(&file, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS, .ring = n}, &symbol,
                  sizeof(symbol));
    }
    fd = memfd_create("trace", MFD_CLOEXEC);
    assert(fd >= 0 && fg_file_write(fd, file.data, file.bytes, 0) == 0);
    assert(read_fd(fd, &nr_rings) == 0 && nr_rings == NR_RINGS);
    put_chunk(&file, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS, .ring = UINT32_MAX}, &symbol,
              sizeof(symbol));
    assert(fg_file_write(fd, file.data, file.bytes, 0) == 0);
    assert(read_fd(fd, &nr_rings) == -EINVAL && nr_rings == NR_RINGS);
    close(fd);
    fg_text_free(&file);
}

/* The largest numbers of events in as many rings as there may be. All have the same kind of event. */
static void large_numbers_of_events_take_little(void)
{
    static const char *const strings[] = {"system", "name", "u8 a 0 16"};
    struct fg_text file = {0}, symbols = {0};

    fg_test_put_symbol(
        &symbols, (struct fg_symbol){.type = FG_SYMBOL_EVENT, .id = UINT16_MAX, .line = 16, .nr_strings = 3},
        strings);
    begin(&file);
    for (uint32_t n = 0; n < NR_RINGS; n++)
        put_chunk(&file, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS, .ring = n}, symbols.data,
                  symbols.bytes);
    assert(read_bytes(file.data, file.bytes) == 0);
    fg_text_free(&symbols);
    fg_text_free(&file);
}

/* More kinds of events than there may be, in as many systems. */
static void too_many_kinds_of_events_are_unknown(void)
{
    struct fg_text file = {0}, symbols = {0};
    char system[16];
    const char *strings[] = {system, "name", ""};

    begin(&file);
    for (uint32_t n = 0; n < NR_EVENT_TYPES; n++) {
        snprintf(system, sizeof(system), "s%u", n);
        fg_test_put_symbol(
            &symbols,
            (struct fg_symbol){.type = FG_SYMBOL_EVENT, .id = n % 65536, .line = 8, .nr_strings = 3},
            strings);
    }
    put_chunk(&file, (struct fg_spool_chunk){.type = FG_SPOOL_SYMBOLS}, symbols.data, symbols.bytes);
    assert(read_bytes(file.data, file.bytes) == 0);
    fg_text_free(&symbols);
    fg_text_free(&file);
}

/* ---- rows, lanes */

/* A DATA chunk of one entry. */
static void put_entry(struct fg_text *file, uint32_t task, uint64_t time)
{
    const struct fg_record record = {.time = time, .info = FG_RECORD_INFO(FG_RECORD_ENTRY, 2, 0)};
    static struct fg_row_packer packer;

    assert(fg_rows_pack(&packer, &record, sizeof(record)) == 0);
    put_chunk(file,
              (struct fg_spool_chunk){.type = FG_SPOOL_DATA,
                                      .task = task,
                                      .nr_records = 1,
                                      .record_bytes = sizeof(record),
                                      .first_ticks = time,
                                      .last_ticks = time},
              packer.rows, packer.bytes);
}

static void many_lanes_take_little(void)
{
    struct fg_text file = {0};

    begin(&file);
    for (uint32_t task = 0; task < NR_LANES; task++)
        put_entry(&file, task, 1000);
    assert(read_bytes(file.data, file.bytes) == 0);
    fg_text_free(&file);
}

/* Four billion rows, of which there are bytes for none, for some, or for more than a sub-buffer has room
 * for. */
static void too_many_rows_are_damage(void)
{
    static const uint32_t sizes[] = {0, 1, 100, 100000};
    struct fg_text file = {0}, rows = {0};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct fg_rows_header header = {.nr_rows = UINT32_MAX, .bytes = {sizes[i], sizes[i], sizes[i], 0, 0}};

        rows.bytes = 0;
        fg_text_put(&rows, (const char *)&header, sizeof(header));
        fg_text_fill(&rows, 0, 3 * (size_t)sizes[i]);
        begin(&file);
        put_chunk(&file,
                  (struct fg_spool_chunk){.type = FG_SPOOL_DATA,
                                          .nr_records = UINT32_MAX,
                                          .record_bytes = FG_RING_SUBBUF_BYTES_MAX,
                                          .last_ticks = 1},
                  rows.data, rows.bytes);
        assert(read_bytes(file.data, file.bytes) == -EINVAL);
    }
    fg_text_free(&file);
    fg_text_free(&rows);
}

/* ---- directories */

/* Appends a directory of these places, with sound checksums, and a footer. */
static void put_directory(struct fg_text *file, struct fg_spool_place *places, size_t count)
{
    struct fg_spool_footer footer;

    for (size_t i = 0; i < count; i++) {
        places[i].chunk.header_crc = fg_chunk_header_crc(places[i].chunk);
        places[i].chunk.magic = 0;
    }
    footer.offset =
        put_chunk(file, (struct fg_spool_chunk){.type = FG_SPOOL_DIRECTORY}, places, count * sizeof(*places));
    memcpy(footer.magic, FG_SPOOL_FOOTER_MAGIC, sizeof(footer.magic));
    fg_text_put(file, (const char *)&footer, sizeof(footer));
}

#define NR_ENTRIES 4u

/* Entries of one task, and a directory in which one place is as `change` makes it. */
static int read_lie(void (*change)(struct fg_spool_place *places))
{
    struct fg_spool_place places[NR_ENTRIES];
    struct fg_text file = {0};
    int result;

    begin(&file);
    for (uint32_t i = 0; i < NR_ENTRIES; i++) {
        places[i].offset = file.bytes;
        put_entry(&file, 1, 1000 + i);
        memcpy(&places[i].chunk, file.data + places[i].offset, sizeof(places[i].chunk));
    }
    change(places);
    put_directory(&file, places, NR_ENTRIES);
    result = read_bytes(file.data, file.bytes);
    fg_text_free(&file);
    return result;
}

static void no_change(struct fg_spool_place *places)
{
    (void)places;
}

static void overlapping(struct fg_spool_place *places)
{
    places[2].offset = places[1].offset;
}

static void beyond_the_end(struct fg_spool_place *places)
{
    places[3].offset = UINT64_MAX - 7;
}

static void far_too_large(struct fg_spool_place *places)
{
    places[3].chunk.stored_bytes = FG_SPOOL_MAX_BYTES;
}

static void of_another_size(struct fg_spool_place *places)
{
    places[1].chunk.stored_bytes -= 8;
}

static void of_another_type(struct fg_spool_place *places)
{
    places[1].chunk.type = FG_SPOOL_SYMBOLS;
}

static void of_billions(struct fg_spool_place *places)
{
    places[1].chunk.nr_records = places[1].chunk.record_bytes = UINT32_MAX;
    places[1].chunk.seq = places[1].chunk.lost = places[1].chunk.first_ticks = UINT64_MAX;
    places[1].chunk.ring = FG_CONTENTS_MAX_RINGS - 1;
    places[1].chunk.task = UINT32_MAX;
}

static void lying_directories_are_seen(void)
{
    assert(read_lie(no_change) == 0);
    /* Such a directory is not used: the chunks are found without it. */
    assert(read_lie(overlapping) == 0);
    assert(read_lie(beyond_the_end) == 0);
    assert(read_lie(far_too_large) == 0);
    /* The places of these are possible: what lies there is something else, or is taken for what it is. */
    assert(read_lie(of_another_size) == -EINVAL);
    assert(read_lie(of_another_type) == 0);
    assert(read_lie(of_billions) == 0);
}

int main(void)
{
    static const uint32_t codecs[] = {FG_CODEC_NONE, FG_CODEC_ZSTD};
    struct fg_text whole = {0};

    limit_memory();
    for (size_t i = 0; i < sizeof(codecs) / sizeof(*codecs); i++) {
        if (fg_codec_by_id(codecs[i]) == NULL)
            continue;
        whole.bytes = 0;
        fg_test_make_spool(&whole, codecs[i]);
        any_prefix_is_a_trace(&whole);
        damaged_files_are_read(&whole);
        payloads_damaged_before_compression_are_read(codecs[i]);
    }
    fg_text_free(&whole);
    too_many_rows_are_damage();
    lying_directories_are_seen();
    many_lanes_take_little();
    large_numbers_take_little();
    large_numbers_of_events_take_little();
    too_many_kinds_of_events_are_unknown();
    if (fg_codec_best()->id != FG_CODEC_NONE) {
        large_chunks_take_their_size();
        many_symbols_are_not_believed();
        long_texts_are_not_believed();
    }
    return 0;
}
