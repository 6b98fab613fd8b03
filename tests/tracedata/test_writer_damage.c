/* Promise: whatever a spool or a sub-buffer holds, a trace is made of it; at worst an empty one, and
 * never by reading beyond a buffer. For the sanitizers (make asan): a whole spool is damaged at random,
 * thousands of times, and assembled; and functions that are one are found to be one. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/ring/record.h"
#include "tracedata/base/file_io.h"
#include "tracedata/base/text.h"
#include "tracedata/make/assemble.h"
#include "tracedata/spool/census.h"
#include "tracedata/spool/chunk_check.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/heaviest.h"
#include "tracedata/spool/recorder.h"
#include "tracedata/spool/rows.h"
#include "tracedata/spool/spool.h"

#define ROUNDS 3000
#define NR_TASKS 3u
#define NR_FUNCTIONS 5u

static char folder[] = "/tmp/funcgraph-test-XXXXXX";

static uint64_t chance(void)
{
    static uint64_t state = 88172645463325252u;

    state ^= state << 13; /* xorshift64, Marsaglia 2003 */
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static char *path_in_folder(const char *name)
{
    static char paths[2][128];
    static int which;

    which = !which;
    snprintf(paths[which], sizeof(paths[which]), "%s/%s", folder, name);
    return paths[which];
}

static void put_symbol(struct fg_text *symbols, struct fg_symbol symbol, const char *const strings[])
{
    size_t begin = symbols->bytes;

    fg_text_put(symbols, (const char *)&symbol, sizeof(symbol));
    for (uint32_t i = 0; i < symbol.nr_strings; i++)
        fg_text_put(symbols, strings[i], strlen(strings[i]) + 1);
    fg_text_fill(symbols, 0, -(symbols->bytes - begin) & 7u);
    symbol.bytes = (uint32_t)(symbols->bytes - begin);
    memcpy(symbols->data + begin, &symbol, sizeof(symbol));
}

static void put_symbols(struct fg_text *symbols)
{
    static const char *const argv[] = {"/usr/bin/python3", "app.py"};
    static const char *const names[] = {"main", "worker", "other"};

    put_symbol(symbols, (struct fg_symbol){.type = FG_SYMBOL_PROCESS, .tid = 1, .nr_strings = 2}, argv);
    for (uint32_t id = 0; id < NR_FUNCTIONS; id++) {
        char qualname[16];
        const char *strings[] = {"m", qualname, "/src/m.py", "self,n"};

        snprintf(qualname, sizeof(qualname), "f%u", id);
        put_symbol(symbols, (struct fg_symbol){.type = FG_SYMBOL_FUNC, .id = id, .line = id, .nr_strings = 4},
                   strings);
    }
    for (uint32_t task = 0; task < NR_TASKS; task++)
        put_symbol(symbols,
                   (struct fg_symbol){.type = FG_SYMBOL_TASK, .id = task, .tid = 100 + task, .nr_strings = 1},
                   &names[task]);
}

/* A record of any kind, with start and values as it comes. */
static void put_record(struct fg_text *data, uint64_t time)
{
    static const uint8_t fixed_words[] = {
#define X(name, value, words, text) [value] = (words),
        FG_RECORD_KINDS(X)
#undef X
    };
    uint32_t kind = (uint32_t)(chance() % sizeof(fixed_words)), words = 2u + fixed_words[kind], flags = 0;
    struct fg_record record = {.time = time, .func = (uint32_t)(chance() % (NR_FUNCTIONS + 1))};
    uint64_t payload[FG_RECORD_MAX_WORDS] = {time - chance() % 1000};

    if (chance() % 4 == 0) {
        flags |= FG_RECORD_HAS_START;
        words++;
    }
    if (chance() % 4 == 0) {
        flags |= FG_RECORD_HAS_VALUES;
        words += (uint32_t)(chance() % (chance() % 8 ? 4 : FG_RECORD_MAX_WORDS - words));
    }
    record.info = FG_RECORD_INFO(kind | flags, words, chance() % 10);
    fg_text_put(data, (const char *)&record, sizeof(record));
    fg_text_put(data, (const char *)payload, (words - 2u) * sizeof(*payload));
}

static void append(struct fg_spool *spool, struct fg_spool_chunk chunk, const void *payload, size_t bytes)
{
    uint64_t offset;

    assert(fg_spool_append(spool, &chunk, payload, bytes, &offset) == 0);
}

static void append_data(struct fg_spool *spool, uint64_t seq)
{
    uint64_t time = 1000000 + seq * 100000;
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_DATA,
                                   .task = (uint32_t)(seq % NR_TASKS),
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

static void make_spool(struct fg_text *whole)
{
    char *path = path_in_folder("whole.part");
    struct fg_spool_ring ring = {
        .pid = 99, .clock_kind = FG_CLOCK_TSC, .clock_start = {1000000, 5000000}, .name_bytes = 9};
    struct fg_spool_state state = {
        .clock_latest = {9000000, 8000000}, .nr_tasks = NR_TASKS, .killed_bytes = 4};
    struct fg_text payload = {0};
    struct fg_spool spool;

    assert(fg_spool_create(&spool, path) == 0);
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
    assert(unlink(path) == 0);
}

/* Gives all chunks that are still found the checksums of what they have now. */
static void mend_checksums(struct fg_text *spool)
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

static void damage(struct fg_text *spool)
{
    static const uint64_t words[] = {0,  1,          7,          8,          UINT32_MAX,          UINT64_MAX,
                                     64, 1ull << 31, 1ull << 32, 1ull << 62, FG_SPOOL_CHUNK_MAGIC};
    uint64_t times = chance() % 30;

    while (times-- > 0) {
        uint64_t at = sizeof(struct fg_spool_header) + chance() % (spool->bytes - 24);

        if (chance() % 2)
            memcpy(spool->data + at / 8 * 8, &words[chance() % (sizeof(words) / sizeof(*words))], 8);
        else
            spool->data[at] = (char)chance();
    }
    if (chance() % 2)
        mend_checksums(spool);
    if (chance() % 8 == 0)
        spool->bytes =
            sizeof(struct fg_spool_header) + chance() % (spool->bytes - sizeof(struct fg_spool_header));
}

/* Takes the spool's bytes up where a recorder left them, and makes a trace of them. */
static void assemble(const struct fg_text *bytes)
{
    char *path = path_in_folder("damaged.part"), *output = path_in_folder("trace.dat");
    const struct fg_trace_dat_format format = {.version = 6 + (int)(chance() % 2), .codec = fg_codec_best()};
    struct fg_heavy top[NR_FUNCTIONS];
    struct fg_recorder recorder;
    struct fg_recorded recorded;
    uint64_t sampled, damaged_at;
    FILE *file = fopen(path, "w");
    int found;

    assert(file && fwrite(bytes->data, bytes->bytes, 1, file) == 1 && fclose(file) == 0);
    assert(fg_recorder_open(&recorder, path, FG_TRACE_CLOCK_MONO, true) == 0);
    assert(recorder.spool.end <= bytes->bytes);
    assert(fg_census_nr_recorded(&recorder.contents) <= (int64_t)recorder.contents.symbols.nr_functions);
    found = fg_heaviest(&recorder.contents, &recorder.spool, top, NR_FUNCTIONS, &sampled);
    assert(found >= 0 && found <= (int)NR_FUNCTIONS && (found == 0 || top[0].bytes <= sampled));
    assert(fg_recorded_open(recorder.spool.fd, &recorded) == 0);
    assert(fg_assemble(&recorded, output, &format, &damaged_at) == 0);
    fg_recorded_close(&recorded);
    assert(fg_recorder_complete(&recorder) == 0);
    fg_recorder_close(&recorder);
    assert(access(output, R_OK) == 0);
}

static void damaged_spools_are_assembled(void)
{
    struct fg_text whole = {0}, copy = {0};

    make_spool(&whole);
    assemble(&whole);
    for (int i = 0; i < ROUNDS; i++) {
        copy.bytes = 0;
        fg_text_put(&copy, whole.data, whole.bytes);
        damage(&copy);
        assemble(&copy);
    }
    fg_text_free(&whole);
    fg_text_free(&copy);
}

static int64_t take_function(struct fg_symbols *symbols, unsigned number, uint16_t type)
{
    struct fg_text text = {0};
    char qualname[32];
    const char *strings[] = {"m", qualname, "/src/m.py", "self,n"};
    int64_t taken;

    snprintf(qualname, sizeof(qualname), "f%u", number);
    put_symbol(&text, (struct fg_symbol){.type = type, .line = number % 7, .nr_strings = 4}, strings);
    taken = fg_symbols_take(symbols, (const struct fg_symbol *)text.data);
    fg_text_free(&text);
    return taken;
}

static void equal_functions_are_one(void)
{
    struct fg_symbols symbols = {0};

    for (unsigned round = 0; round < 3; round++)
        for (unsigned i = 0; i < 5000; i++)
            assert(take_function(&symbols, i, FG_SYMBOL_SEEN) == i);
    assert(symbols.nr_functions == 5000 && symbols.nr_matched == 0);
    assert(take_function(&symbols, 4999, FG_SYMBOL_FUNC) == 4999);
    assert(take_function(&symbols, 7, FG_SYMBOL_FUNC) == 7);
    assert(take_function(&symbols, 4999, FG_SYMBOL_FUNC) == 4999);
    assert(symbols.nr_matched == 2);
    assert(strcmp(fg_symbols_matched(&symbols, 0)->strings[FG_FUNCTION_QUALNAME], "f4999") == 0);
    assert(strcmp(fg_symbols_matched(&symbols, 1)->strings[FG_FUNCTION_QUALNAME], "f7") == 0);
    fg_symbols_free(&symbols);
}

static void times_keep_their_order_and_distance(void)
{
    struct fg_clock_pair first = {1ull << 52, 1ull << 50}, last = first;
    struct fg_time_scale scale;
    uint64_t previous = 0;

    last.ticks += 86400ull * 3193999000u; /* a day at 3.194 GHz */
    last.monotonic_ns += 86400ull * 1000000000u;
    scale = fg_time_scale_between(first, last);
    for (uint64_t ticks = first.ticks - 1000; ticks < first.ticks + 100000; ticks++) {
        uint64_t ns = fg_time_scale_ns(&scale, ticks);

        assert(ns >= previous && (previous == 0 || ns - previous <= 1));
        previous = ns;
    }
    assert(fg_time_scale_ns(&scale, first.ticks) == first.monotonic_ns);
    assert(last.monotonic_ns - fg_time_scale_ns(&scale, last.ticks) <= 1);
    scale = fg_time_scale_between(last, first);
    assert(fg_time_scale_ns(&scale, last.ticks + 77) == last.monotonic_ns + 77);
    scale = fg_time_scale_monotonic();
    assert(fg_time_scale_ns(&scale, 1ull << 60) == 1ull << 60);
}

int main(void)
{
    assert(mkdtemp(folder));
    equal_functions_are_one();
    times_keep_their_order_and_distance();
    damaged_spools_are_assembled();
    unlink(path_in_folder("damaged.part"));
    unlink(path_in_folder("trace.dat"));
    assert(rmdir(folder) == 0);
    return 0;
}
