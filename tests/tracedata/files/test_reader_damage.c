/* Promise: whatever a file holds, reading it ends; at worst with an error, never beyond a buffer. For the
 * sanitizers (make asan): a whole trace is damaged at random, thousands of times, and everything that can
 * be read is read. So is a trace of version 7 with each codec, also with damage that was compressed with the
 * rest: no codec can see that. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/ring/record.h"
#include "support/seed.h"
#include "support/selections.h"
#include "tracedata/base/codec.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/wire.h"
#include "tracedata/read/trace_file.h"
#include "tracedata/text/report.h"
#include "tracedata/view/columns.h"
#include "tracedata/view/summary.h"

#define NR_CPUS 2u /* lanes of a buffer */
#define NR_BUFFERS 2u
#define NR_LANES (NR_CPUS * NR_BUFFERS)
#define NR_PAGES 3u /* a lane */
#define IS_NIGHT (getenv("FUNCGRAPH_NIGHTLY") != NULL)
#define ROUNDS (IS_NIGHT ? 6000 : 700)
#define ROUNDS_7 (IS_NIGHT ? 2000 : 250) /* for each codec */
#define BUFFER_BYTES (sizeof("flyrecord") + NR_CPUS * 16)

static const char meta[] = "{\"version\": 1}";

/* Appends little-endian numbers to a piece of text. */
static void put(struct fg_text *text, uint64_t number, size_t bytes)
{
    fg_text_put(text, (const char *)&number, bytes);
}

static void put_header(struct fg_text *file)
{
    fg_text_lit(file, "\x17\x08\x44tracing6\0");
    put(file, 0, 1);
    put(file, 8, 1);
    put(file, FG_WIRE_PAGE_BYTES, 4);
    fg_text_lit(file, "header_page\0");
    put(file, 0, 8);
    fg_text_lit(file, "header_event\0");
    put(file, 0, 8);
    put(file, 0, 4); /* formats of ftrace */
    put(file, 1, 4); /* systems: one */
    fg_text_lit(file, "funcgraph\0");
    put(file, 0, 4);
    put(file, 0, 4); /* kallsyms */
    put(file, 0, 4); /* printk formats */
    put(file, 0, 8); /* command lines */
    put(file, NR_CPUS, 4);
    fg_text_lit(file, "options  \0");
    put(file, 3, 2); /* another buffer: its offset and name */
    put(file, 8 + sizeof("b"), 4);
    put(file, file->bytes + 8 + sizeof("b") + 2 + BUFFER_BYTES, 8);
    fg_text_lit(file, "b\0");
    put(file, 0, 2);
    for (uint32_t i = 0; i < NR_LANES; i++) {
        if (i % NR_CPUS == 0)
            fg_text_lit(file, "flyrecord\0");
        put(file, (uint64_t)FG_WIRE_PAGE_BYTES * (1 + i * NR_PAGES), 8);
        put(file, (uint64_t)FG_WIRE_PAGE_BYTES * NR_PAGES, 8);
    }
}

/* A record of an event with these fields, to which a tail may be appended. */
#define PUT_EVENT(record, event, tid, ...)                                                                   \
    fg_text_put(record,                                                                                      \
                (const char *)&(struct fg_wire_##event){                                                     \
                    .common_type = FG_EVENT_##event, .common_pid = (int32_t)(tid), __VA_ARGS__},             \
                sizeof(struct fg_wire_##event))

static void put_values(struct fg_text *record)
{
    put(record, FG_VALUE_STR, 1);
    put(record, 99, 8);
    put(record, 5, 1);
    fg_text_lit(record, "ab\xc3\xbc'");
    put(record, FG_VALUE_FLOAT, 1);
    put(record, 0x3fb999999999999a, 8);
    put(record, FG_VALUE_OBJECT, 1);
    put(record, 0x7f001234, 8);
    put(record, 3, 1);
    fg_text_lit(record, "Foo");
}

/* A record of the function tracer: a call, its callers, or its repeats. */
static void put_call(struct fg_text *record, unsigned n, uint32_t func, unsigned tid)
{
    switch (n % 3) {
    case 0:
        PUT_EVENT(record, function, tid, .ip = func, .parent_ip = func);
        break;
    case 1:
        PUT_EVENT(record, kernel_stack, tid, .size = 2);
        put(record, func, 8);
        put(record, func, 8);
        break;
    default:
        PUT_EVENT(record, func_repeats, tid, .ip = func, .parent_ip = func, .count = 3,
                  .bottom_delta_ts = func);
    }
}

/* The n-th record of a lane: all kinds in turn. */
static void put_record(struct fg_text *record, unsigned n, unsigned tid)
{
    uint32_t func = fg_function_address(n % 3), depth = n % 4;
    switch (n % 8) {
    default:
        PUT_EVENT(record, funcgraph_entry, tid, .func = func, .depth = depth,
                  .kind = n % 2 ? FG_ENTRY_RESUME | FG_WIRE_HAS_START : FG_ENTRY_START | FG_WIRE_HAS_CALLER);
        put(record, n % 2 ? 1000 + n % 5 : func | UINT64_C(0x4f) << 32, 8);
        put_values(record);
        break;
    case 2:
    case 3:
    case 4:
        PUT_EVENT(record, funcgraph_exit, tid, .func = func, .depth = depth, .calltime = 1000 + n,
                  .rettime = 2000 + 2 * n, .kind = (uint8_t)((n / 8 % 4) | FG_WIRE_HAS_START));
        put(record, 1000 + n % 5, 8);
        put_values(record);
        break;
    case 5:
        put_call(record, n / 8, func, tid);
        break;
    case 6:
        if (n % 16 == 6)
            PUT_EVENT(record, recorder_wait, tid, .duration_ns = n);
        else
            PUT_EVENT(record, overrun, tid, .total = n);
        break;
    case 7:
        PUT_EVENT(record, print, tid, .ip = 0);
        fg_text_lit(record, "a message\0");
        break;
    }
    while (record->bytes % 4)
        put(record, 0, 1);
}

static void put_page(struct fg_text *file, unsigned page, unsigned tid)
{
    struct fg_text data = {0};
    for (unsigned n = 0;; n++) {
        struct fg_text record = {0};
        put_record(&record, n, tid);
        if (data.bytes + record.bytes + 16 + 8 > FG_WIRE_PAGE_BYTES - FG_WIRE_PAGE_HEADER_BYTES) {
            fg_text_free(&record);
            break;
        }
        if (n % 9 == 8) { /* a time extend */
            put(&data, 30 | 77u << 5, 4);
            put(&data, 1, 4);
        }
        if (n % 7 == 6) { /* a length of its own */
            put(&data, 10u << 5, 4);
            put(&data, record.bytes + 4, 4);
        } else {
            put(&data, (record.bytes / 4) | 10u << 5, 4);
        }
        fg_text_put(&data, record.data, record.bytes);
        fg_text_free(&record);
    }
    put(file, 1000000 + 500000 * page, 8);
    put(file, data.bytes | (page == 1 ? UINT64_C(3) << 30 : 0), 8);
    size_t start = file->bytes;
    fg_text_put(file, data.data, data.bytes);
    put(file, 3, 8); /* events lost, where the flags say so */
    fg_text_fill(file, 0, FG_WIRE_PAGE_BYTES - FG_WIRE_PAGE_HEADER_BYTES - (file->bytes - start));
    fg_text_free(&data);
}

/* Overwrites a few bytes of the data from `begin` on, some of them near there. */
static void damage(struct fg_text *data, size_t begin, size_t near_bytes)
{
    size_t bytes = data->bytes - begin;

    for (long hits = 1 + random() % 12; hits > 0; hits--) {
        size_t reach = random() % 4 || near_bytes > bytes ? bytes : near_bytes;

        data->data[begin + (size_t)random() % reach] = (char)(random() % 3 ? random() : random() % 2 * 255);
    }
}

/* What a trace of version 7 is made with. */
struct packer {
    const struct fg_codec *codec;
    void *state;
    bool damages; /* what it compresses */
    bool is_bomb; /* the first chunks of lanes are large, and all zeros */
};

/* Appends a block of the data from `begin` of `plain` on. */
static void put_block(struct fg_text *file, const struct packer *packer, struct fg_text *plain, size_t begin)
{
    size_t bytes = plain->bytes - begin, room = packer->codec->bound(bytes);
    struct fg_dat_block block = {.bytes = (uint32_t)bytes};
    int64_t packed;

    if (packer->damages && random() % 4 == 0)
        damage(plain, begin, 60);
    assert(fg_text_reserve(file, sizeof(block) + room));
    packed = packer->codec->compress(packer->state, file->data + file->bytes + sizeof(block), room,
                                     plain->data + begin, bytes);
    assert(packed > 0);
    block.packed_bytes = (uint32_t)packed;
    memcpy(file->data + file->bytes, &block, sizeof(block));
    file->bytes += sizeof(block) + (size_t)packed;
}

/* Begins a section; returns where. */
static size_t begin_section(struct fg_text *file, uint16_t id, uint16_t flags)
{
    put(file, id, 2);
    put(file, flags, 2);
    put(file, 0, 4);
    put(file, 0, 8);
    return file->bytes - sizeof(struct fg_dat_section);
}

static void end_section(struct fg_text *file, size_t begin)
{
    uint64_t bytes = file->bytes - begin - sizeof(struct fg_dat_section);

    memcpy(file->data + begin + offsetof(struct fg_dat_section, bytes), &bytes, sizeof(bytes));
}

/* The lanes of a buffer: a chunk for the first page of each, and one for the others. */
static void put_lanes(struct fg_text *file, const struct packer *packer, unsigned buffer,
                      struct fg_text *options)
{
    bool compresses = packer->codec->id != FG_CODEC_NONE;
    size_t section = begin_section(file, FG_DAT_BUFFER, compresses), option;

    put(options, FG_DAT_BUFFER, 2);
    put(options, 0, 4);
    option = options->bytes;
    put(options, section, 8);
    fg_text_put(options, "b", buffer ? 2 : 0);
    fg_text_put(options, "", buffer ? 0 : 1);
    fg_text_lit(options, "mono\0");
    put(options, FG_WIRE_PAGE_BYTES, 4);
    put(options, NR_CPUS, 4);
    for (unsigned cpu = 0; cpu < NR_CPUS; cpu++) {
        size_t begin = file->bytes;
        struct fg_text pages = {0};

        for (unsigned page = 0; page < NR_PAGES; page++)
            put_page(&pages, page, 100 + buffer * NR_CPUS + cpu);
        if (compresses) {
            struct fg_text first = {0};

            put(file, 2, 4);
            fg_text_put(&first, pages.data, FG_WIRE_PAGE_BYTES);
            if (packer->is_bomb)
                fg_text_fill(&first, 0, FG_DAT_CHUNK_MAX_BYTES);
            put_block(file, packer, &first, 0);
            put_block(file, packer, &pages, FG_WIRE_PAGE_BYTES);
            fg_text_free(&first);
        } else {
            fg_text_put(file, pages.data, pages.bytes);
        }
        put(options, cpu, 4);
        put(options, begin, 8);
        put(options, file->bytes - begin, 8);
        fg_text_free(&pages);
    }
    end_section(file, section);
    uint32_t bytes = (uint32_t)(options->bytes - option);
    memcpy(options->data + option - 4, &bytes, sizeof(bytes));
}

static struct fg_text whole_trace_7(const struct packer *packer)
{
    bool compresses = packer->codec->id != FG_CODEC_NONE;
    struct fg_text file = {0}, options = {0}, json = {0};
    size_t options_at, section;
    uint64_t offset;

    fg_text_lit(&file, "\x17\x08\x44tracing7\0");
    put(&file, 0, 1);
    put(&file, 8, 1);
    put(&file, FG_WIRE_PAGE_BYTES, 4);
    fg_text_put(&file, packer->codec->name, strlen(packer->codec->name) + 1);
    fg_text_lit(&file, "1.2\0");
    options_at = file.bytes;
    put(&file, 0, 8);
    put(&options, FG_DAT_TRACECLOCK, 2);
    put(&options, sizeof("[mono]"), 4);
    fg_text_lit(&options, "[mono]\0");
    put(&options, FG_DAT_CMDLINES, 2);
    put(&options, 8, 4);
    put(&options, file.bytes, 8);
    end_section(&file, begin_section(&file, FG_DAT_CMDLINES, 0));
    for (unsigned buffer = 0; buffer < NR_BUFFERS; buffer++)
        put_lanes(&file, packer, buffer, &options);
    put(&options, FG_DAT_END, 2);
    put(&options, 8, 4);
    put(&options, 0, 8);
    offset = section = begin_section(&file, FG_DAT_END, 0);
    fg_text_put(&file, options.data, options.bytes);
    end_section(&file, section);
    memcpy(file.data + options_at, &offset, sizeof(offset));
    section = begin_section(&file, FG_DAT_DESCRIPTION, compresses);
    fg_text_put(&json, meta, sizeof(meta) - 1);
    if (compresses)
        put_block(&file, packer, &json, 0);
    else
        fg_text_put(&file, json.data, json.bytes);
    end_section(&file, section);
    size_t end = file.bytes;
    fg_text_lit(&file, FG_WIRE_FOOTER_MAGIC);
    put(&file, section, 8);
    put(&file, end - section, 8);
    assert(!file.failed && !options.failed);
    fg_text_free(&options);
    fg_text_free(&json);
    return file;
}

static struct fg_text whole_trace(void)
{
    struct fg_text file = {0};
    put_header(&file);
    fg_text_fill(&file, 0, FG_WIRE_PAGE_BYTES - file.bytes);
    for (unsigned lane = 0; lane < NR_LANES; lane++)
        for (unsigned page = 0; page < NR_PAGES; page++)
            put_page(&file, page, 100 + lane);
    size_t offset = file.bytes;
    fg_text_put(&file, meta, sizeof(meta) - 1);
    fg_text_lit(&file, FG_WIRE_FOOTER_MAGIC);
    put(&file, offset, 8);
    put(&file, sizeof(meta) - 1, 8);
    assert(!file.failed);
    return file;
}

static int read_report(struct fg_trace_file *file, struct fg_name_table *names, uint32_t options,
                       size_t *bytes)
{
    const struct fg_report_style style = {.options = options, .color = options % 2};
    struct fg_report_style *styles = calloc(file->nr_buffers + (size_t)1, sizeof(*styles));
    struct fg_merge merge;
    struct fg_report *report = NULL;
    struct fg_text text = {0};
    int result = fg_merge_open(&merge, file, names);
    assert(styles);
    for (uint32_t i = 0; i < file->nr_buffers; i++) {
        styles[i] = style;
        styles[i].prefix = i ? "b: " : NULL;
    }
    if (!result)
        result = fg_report_new(styles, file->nr_buffers, 0, &merge, &report);
    if (!result) {
        do {
            result = fg_report_next(report, &text, 64u << 10);
            *bytes += text.bytes;
        } while (result == 1 && *bytes < 4u << 20); /* a damaged depth can make lines of a megabyte */
    }
    assert(result == 0 || result == 1 || (result == -EINVAL && merge.reason[0]) || result == -ENOMEM);
    fg_report_free(report);
    free(styles);
    fg_merge_close(&merge);
    fg_text_free(&text);
    return result;
}

static int read_summary(struct fg_trace_file *file, struct fg_name_table *names, uint64_t *calls)
{
    struct fg_merge merge;
    struct fg_summary *summary = NULL;
    int result = fg_merge_open(&merge, file, names);
    if (!result)
        result = fg_summary_new(&merge, &summary);
    if (!result) {
        do
            result = fg_summary_run(summary, 1000);
        while (result == 1);
        for (uint32_t i = 0; i <= names->nr_functions; i++)
            *calls += fg_summary_functions(summary)[i].calls;
    }
    fg_summary_free(summary);
    fg_merge_close(&merge);
    return result;
}

/* As columns, a few events at a time. Whatever is read is within its arrays. */
static int read_columns(struct fg_trace_file *file, struct fg_name_table *names)
{
    struct fg_merge merge;
    int result = fg_merge_open(&merge, file, names);

    if (!result)
        result = 1;
    while (result == 1) {
        struct fg_columns columns;

        assert(fg_columns_init(&columns, 100) == 0);
        result = fg_columns_fill(&columns, &merge);
        assert(columns.n <= 100 && (result < 1 || columns.n == 100));
        for (size_t i = 0; i < columns.n; i++)
            assert(columns.kind[i] <= FG_COLUMN_other && columns.task[i] < names->nr_tasks &&
                   columns.data_offsets[i] <= columns.data_offsets[i + 1]);
        assert((size_t)columns.data_offsets[columns.n] == columns.data_bytes);
        fg_columns_trim(&columns);
        fg_columns_free(&columns);
    }
    assert(result == 0 || (result == -EINVAL && merge.reason[0]) || result == -ENOMEM);
    fg_merge_close(&merge);
    return result;
}

static int read_all(const char *path, uint32_t options, size_t *bytes, uint64_t *calls)
{
    char reason[FG_REASON_BYTES];
    struct fg_trace_file file;
    struct fg_name_table names;
    int error = fg_trace_file_open(path, &file, reason);
    if (error) {
        assert(error == -EINVAL && reason[0]);
        return error;
    }
    struct fg_task_name task = {
        .name = "work", .lane = 0, .tid = 100, .pid = 100, .last_ns = UINT64_MAX, .selected = true};
    assert(fg_name_table_init(&names, 2, 1) == 0);
    assert(fg_name_table_set_function(&names, 0, "m.f", 3, "a,*args", 7, 0) == 0);
    assert(fg_name_table_set_function(&names, 1, "m.\x1b\xff [so]", 9, "", 0, 0xd0) == 0);
    assert(fg_name_table_add_task(&names, &task) == 0);
    assert(fg_name_table_sort(&names) == 0);
    names.select_unknown = true;
    error = read_report(&file, &names, options, bytes);
    int summary_error = read_summary(&file, &names, calls);
    int columns_error = read_columns(&file, &names);
    assert(summary_error == 0 || columns_error == summary_error);
    assert(!summary_error || read_selected_calls(&file, &names, 0) < 0);
    read_selected_calls(&file, &names, options % 128);
    read_folded(&file, &names, options);
    fg_name_table_free(&names);
    fg_trace_file_close(&file);
    return error < 0 ? error : summary_error;
}

static void save(const char *path, const char *data, size_t bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes);
    close(fd);
}

/* Reads a trace in which the first record of lane 0 is an event of `type` with `bytes` of zeros for its
 * fields. */
static int read_event(const char *path, const struct fg_text *whole, uint16_t type, size_t bytes)
{
    char *copy = malloc(whole->bytes);
    uint32_t head = (uint32_t)((bytes + 3) / 4);
    uint64_t commit = sizeof(head) + head * sizeof(uint32_t);
    size_t at = FG_WIRE_PAGE_BYTES, text_bytes = 0;
    uint64_t calls = 0;

    assert(copy);
    memcpy(copy, whole->data, whole->bytes);
    memcpy(copy + at + 8, &commit, sizeof(commit));
    at += FG_WIRE_PAGE_HEADER_BYTES;
    memcpy(copy + at, &head, sizeof(head));
    memset(copy + at + sizeof(head), 0, head * sizeof(uint32_t));
    memcpy(copy + at + sizeof(head), &type, sizeof(type));
    save(path, copy, whole->bytes);
    free(copy);
    return read_all(path, 0, &text_bytes, &calls);
}

/* Promise: a record without all of its event's fields is damage, whichever fields the table gives the
 * event. */
static void short_records_are_damage(const char *path, const struct fg_text *whole)
{
#define X(event, system, print)                                                                              \
    assert(read_event(path, whole, FG_EVENT_##event, sizeof(struct fg_wire_##event)) == 0);                  \
    assert(read_event(path, whole, FG_EVENT_##event, (sizeof(struct fg_wire_##event) - 1) & ~(size_t)3) ==   \
           -EINVAL);
    FG_WIRE_EVENTS(X)
#undef X
}

/* Damages a trace in `rounds` ways and reads what is left; returns how often that was an error. */
static int read_damaged(const char *path, const struct fg_text *whole, int rounds)
{
    struct fg_text damaged = {0};
    int nr_errors = 0;

    assert(whole->bytes > 0);
    for (int round = 0; round < rounds; round++) {
        size_t bytes = 0;
        uint64_t calls = 0;

        damaged.bytes = 0;
        fg_text_put(&damaged, whole->data, whole->bytes);
        damage(&damaged, 0, 400); /* the header is a small part of it */
        save(path, damaged.data, random() % 16 ? whole->bytes : (size_t)random() % whole->bytes);
        nr_errors += read_all(path, (uint32_t)random() % (1u << FG_REPORT_NR_OPTIONS), &bytes, &calls) < 0;
    }
    fg_text_free(&damaged);
    return nr_errors;
}

/* The same before compression. */
static int read_damaged_inside(const char *path, struct packer packer, int rounds)
{
    int nr_errors = 0;

    packer.damages = true;
    for (int round = 0; round < rounds; round++) {
        struct fg_text file = whole_trace_7(&packer);
        size_t bytes = 0;
        uint64_t calls = 0;

        save(path, file.data, file.bytes);
        nr_errors += read_all(path, (uint32_t)random() % (1u << FG_REPORT_NR_OPTIONS), &bytes, &calls) < 0;
        fg_text_free(&file);
    }
    return nr_errors;
}

/* A chunk of a size that no reader takes, in a small file. */
static void a_bomb_is_refused(const char *path, struct packer packer)
{
    size_t bytes = 0;
    uint64_t calls = 0;
    struct fg_text file;

    packer.is_bomb = true;
    file = whole_trace_7(&packer);
    assert(file.bytes < FG_DAT_CHUNK_MAX_BYTES / 32);
    save(path, file.data, file.bytes);
    assert(read_all(path, 0, &bytes, &calls) == -EINVAL);
    fg_text_free(&file);
}

static void damage_in_version_7_ends_in_an_error(const char *path)
{
    for (uint32_t id = 0; id < FG_NR_CODECS; id++) {
        struct packer packer = {.codec = fg_codec_by_id(id)};
        struct fg_text whole;
        size_t bytes = 0;
        uint64_t calls = 0;
        int nr_errors;

        if (packer.codec == NULL)
            continue;
        packer.state = packer.codec->state_new(packer.codec);
        assert(packer.state);
        whole = whole_trace_7(&packer);
        save(path, whole.data, whole.bytes);
        assert(read_all(path, 0, &bytes, &calls) == 0 && bytes > 10000 && calls > 50);
        nr_errors = read_damaged(path, &whole, ROUNDS_7);
        /* Nearly all damage is an error where the codec has checksums. */
        assert(nr_errors > ROUNDS_7 / 10 && (nr_errors < ROUNDS_7 || id != FG_CODEC_NONE));
        if (id != FG_CODEC_NONE) {
            nr_errors = read_damaged_inside(path, packer, ROUNDS_7 / 2);
            assert(nr_errors > ROUNDS_7 / 20 && nr_errors < ROUNDS_7 / 2);
            a_bomb_is_refused(path, packer);
        }
        fg_text_free(&whole);
        packer.codec->state_free(packer.state);
    }
}

int main(void)
{
    char path[] = "/tmp/fg_reader_damage_XXXXXX";
    int fd = mkstemp(path);
    assert(fd >= 0);
    close(fd);
    struct fg_text whole = whole_trace();

    size_t bytes = 0;
    uint64_t calls = 0;
    save(path, whole.data, whole.bytes);
    assert(read_all(path, 0, &bytes, &calls) == 0 && bytes > 10000 && calls > 50);

    short_records_are_damage(path, &whole);

    srandom((unsigned)fg_test_seed());
    int nr_errors = read_damaged(path, &whole, ROUNDS);
    assert(nr_errors > ROUNDS / 10 && nr_errors < ROUNDS);
    damage_in_version_7_ends_in_an_error(path);
    unlink(path);
    fg_text_free(&whole);
    return 0;
}
