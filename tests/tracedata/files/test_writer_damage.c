/* Promise: whatever a spool or a sub-buffer holds, a trace is made of it; at worst an empty one, and
 * never by reading beyond a buffer. For the sanitizers (make asan): a whole spool is damaged at random,
 * thousands of times, assembled, and followed while it grows, each event once; and functions that are one
 * are found to be one. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/spool_bytes.h"
#include "tracedata/base/file_io.h"
#include "tracedata/base/text.h"
#include "tracedata/make/assemble.h"
#include "tracedata/read/fg/follow.h"
#include "tracedata/read/merge.h"
#include "tracedata/recorder/census.h"
#include "tracedata/recorder/recorder.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/heaviest.h"
#include "tracedata/spool/spool.h"

#define ROUNDS (getenv("FUNCGRAPH_NIGHTLY") ? 3000 : 500)

static char folder[] = "/tmp/funcgraph-test-XXXXXX";

static char *path_in_folder(const char *name)
{
    static char paths[2][128];
    static int which;

    which = !which;
    snprintf(paths[which], sizeof(paths[which]), "%s/%s", folder, name);
    return paths[which];
}

/* In place of each damaged chunk of records one without rows is appended. */
static uint64_t losses_bytes(const struct fg_contents *contents)
{
    uint64_t count = 0;

    for (size_t i = 0; i < contents->nr_rings; i++)
        count += contents->rings[i].nr_damaged;
    return count * (sizeof(struct fg_spool_chunk) + sizeof(struct fg_rows_header));
}

/* Takes the spool's bytes up where a recorder left them, and makes a trace of them. */
static void assemble(const struct fg_text *bytes)
{
    char *path = path_in_folder("damaged.part"), *output = path_in_folder("trace.dat");
    const struct fg_trace_dat_format format = {.version = 6 + (int)(fg_test_chance() % 2),
                                               .codec = fg_codec_best()};
    struct fg_heavy top[SPOOL_NR_FUNCTIONS];
    struct fg_recorder recorder;
    struct fg_recorded recorded;
    uint64_t sampled, damaged_at;
    FILE *file = fopen(path, "w");
    int found;

    assert(file && fwrite(bytes->data, bytes->bytes, 1, file) == 1 && fclose(file) == 0);
    assert(fg_recorder_open(&recorder, path, FG_TRACE_CLOCK_MONO, true) == 0);
    assert(recorder.spool.end <= bytes->bytes + losses_bytes(&recorder.contents));
    assert(fg_census_nr_recorded(&recorder.contents) <= (int64_t)recorder.contents.symbols.nr_functions);
    found = fg_heaviest(&recorder.contents, &recorder.spool, top, SPOOL_NR_FUNCTIONS, &sampled);
    assert(found >= 0 && found <= (int)SPOOL_NR_FUNCTIONS && (found == 0 || top[0].bytes <= sampled));
    assert(fg_recorded_open(recorder.spool.fd, &recorded) == 0);
    assert(fg_assemble(&recorded, output, &format, NULL, &damaged_at) == 0);
    fg_recorded_close(&recorded);
    assert(fg_recorder_complete(&recorder) == 0);
    fg_recorder_close(&recorder);
    assert(access(output, R_OK) == 0);
}

static void write_at(int fd, const struct fg_text *bytes, size_t begin, size_t end)
{
    assert(fg_file_write(fd, bytes->data + begin, end - begin, begin) == 0);
}

static uint64_t take_followed(struct fg_follow *follow)
{
    struct fg_event event;
    struct fg_text json = {0};
    uint64_t count = 0;

    while (fg_follow_next(follow, &event) > 0) {
        assert(event.task < follow->nr_tasks && fg_event_is_whole(&event));
        count++;
    }
    fg_follow_describe(follow, 0, 0, 0, &json);
    assert(!json.failed && json.data[0] == '{');
    fg_text_free(&json);
    return count;
}

/* Follows the spool while it grows in pieces of any size. */
static uint64_t followed(const struct fg_text *bytes)
{
    char *path = path_in_folder("growing.part");
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    size_t header = sizeof(struct fg_spool_header);
    size_t at = header + fg_test_chance() % (bytes->bytes - header);
    struct fg_follow follow;
    uint64_t count;

    assert(fd >= 0);
    write_at(fd, bytes, 0, at);
    assert(fg_follow_open(&follow, fd, 0) == 0);
    count = take_followed(&follow);
    while (at < bytes->bytes) {
        size_t end = at + 1 + fg_test_chance() % (bytes->bytes - at);

        write_at(fd, bytes, at, end);
        at = end;
        assert(fg_follow_poll(&follow) >= 0);
        count += take_followed(&follow);
    }
    assert(fg_follow_poll(&follow) == 0);
    fg_follow_close(&follow);
    assert(close(fd) == 0 && unlink(path) == 0);
    return count;
}

static uint64_t merged(const struct fg_text *bytes)
{
    char *path = path_in_folder("growing.part"), reason[FG_REASON_BYTES];
    struct fg_trace_file file;
    struct fg_name_table names;
    struct fg_merge merge;
    struct fg_event event;
    uint64_t count = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

    assert(fd >= 0);
    write_at(fd, bytes, 0, bytes->bytes);
    assert(fg_trace_file_open_fd(fd, &file, reason) == 0 && fg_name_table_init(&names, 0, 0) == 0);
    names.select_unknown = true;
    assert(fg_merge_open(&merge, &file, &names) == 0);
    while (fg_merge_next(&merge, &event) > 0)
        count++;
    fg_merge_close(&merge);
    fg_name_table_free(&names);
    fg_trace_file_close(&file);
    assert(close(fd) == 0 && unlink(path) == 0);
    return count;
}

static void growing_spools_are_followed(void)
{
    struct fg_text whole = {0}, copy = {0};
    uint64_t events;

    fg_test_make_spool(&whole, fg_codec_best()->id);
    events = merged(&whole);
    assert(events > 300);
    for (int i = 0; i < ROUNDS; i++) {
        assert(followed(&whole) == events);
        copy.bytes = 0;
        fg_text_put(&copy, whole.data, whole.bytes);
        fg_test_damage_spool(&copy);
        followed(&copy);
    }
    fg_text_free(&whole);
    fg_text_free(&copy);
}

static void damaged_spools_are_assembled(void)
{
    struct fg_text whole = {0}, copy = {0};

    fg_test_make_spool(&whole, fg_codec_best()->id);
    assemble(&whole);
    for (int i = 0; i < ROUNDS; i++) {
        copy.bytes = 0;
        fg_text_put(&copy, whole.data, whole.bytes);
        fg_test_damage_spool(&copy);
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
    fg_test_put_symbol(&text, (struct fg_symbol){.type = type, .line = number % 7, .nr_strings = 4}, strings);
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
    assert(strcmp(fg_function_string(fg_symbols_matched(&symbols, 0), FG_FUNCTION_QUALNAME), "f4999") == 0);
    assert(strcmp(fg_function_string(fg_symbols_matched(&symbols, 1), FG_FUNCTION_QUALNAME), "f7") == 0);
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
    growing_spools_are_followed();
    unlink(path_in_folder("damaged.part"));
    unlink(path_in_folder("trace.dat"));
    assert(rmdir(folder) == 0);
    return 0;
}
