/* Promise: a dump has each record that the recorder keeps once, and what the tasks write just then, without a
 * gap. It has each ring's symbols once. It is whole or it is not there, and the recorder goes on. */
#undef NDEBUG
#define _GNU_SOURCE
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/file_hooks.h"
#include "support/ring_bytes.h"
#include "tracedata/recorder/dump.h"
#include "tracedata/recorder/rotation.h"

#define NR_FUNCTIONS 3u
#define MAX_SEGMENTS 8

static char folder[] = "/tmp/fg-dump-XXXXXX";
static char target[64];

struct desk {
    struct fg_recorder recorder;
    struct test_ring rings[2];
    int segments[MAX_SEGMENTS]; /* the last one is the recorder's own */
    int nr_segments;
};

static int memory_file(void)
{
    int fd = memfd_create("segment", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    assert(fd >= 0);
    return fd;
}

static void add_ring(struct desk *desk, int number)
{
    test_ring_begin(&desk->rings[number], 100 + (uint32_t)number);
    for (uint32_t id = 0; id < NR_FUNCTIONS; id++)
        test_ring_function(&desk->rings[number], id);
    assert(fg_recorder_add_ring(&desk->recorder, desk->rings[number].fd, desk->rings[number].name, false) >=
           0);
}

static void begin(struct desk *desk)
{
    test_ring_restart();
    desk->segments[0] = memory_file();
    desk->nr_segments = 1;
    assert(fg_recorder_open_in(&desk->recorder, desk->segments[0], FG_TRACE_CLOCK_MONO) == 0);
    add_ring(desk, 0);
    add_ring(desk, 1);
}

static void end(struct desk *desk)
{
    fg_recorder_close(&desk->recorder);
    for (int i = 0; i < 2; i++)
        test_ring_end(&desk->rings[i]);
    for (int i = 0; i < desk->nr_segments; i++)
        close(desk->segments[i]);
}

static void put(struct desk *desk)
{
    for (int i = 0; i < 2; i++)
        test_ring_put(&desk->rings[i], 1, 3, FG_SUBBUF_FULL);
}

static void drain(struct desk *desk)
{
    for (uint32_t i = 0; i < desk->recorder.nr_rings; i++)
        assert(desk->recorder.rings[i].reader == NULL || fg_recorder_drain(&desk->recorder, i) >= 0);
}

static void next_segment(struct desk *desk)
{
    struct fg_recorder_counts counts;

    assert(desk->nr_segments < MAX_SEGMENTS);
    desk->segments[desk->nr_segments++] = memory_file();
    assert(fg_recorder_rotate_in(&desk->recorder, desk->segments[desk->nr_segments - 1], &counts) == 0);
}

/* Of the segments from `first` on. */
static int dump_from(struct desk *desk, int first, struct fg_dumped *dumped)
{
    return fg_recorder_dump(&desk->recorder, desk->segments + first, (size_t)(desk->nr_segments - 1 - first),
                            "{}", 2, target, dumped);
}

/* Dumps all, and fails unless these records are there once. */
static void dump_has(struct desk *desk, int first, uint32_t first_record, uint32_t end_record,
                     uint64_t nr_symbols)
{
    struct test_found found = {0};
    struct fg_dumped dumped;

    unlink(target);
    assert(dump_from(desk, first, &dumped) == 0);
    test_find_path(target, &found);
    assert(found.is_complete);
    test_has_records(&found, first_record, end_record);
    assert(dumped.records == found.nr_records);
    assert(found.nr_symbols == nr_symbols && found.nr_functions == nr_symbols);
}

/* ---- what is in a dump */

static void all_segments_are_one_trace(void)
{
    struct desk desk;

    begin(&desk);
    dump_has(&desk, 0, 0, 0, 2 * NR_FUNCTIONS);
    for (int i = 0; i < 4; i++) {
        put(&desk);
        drain(&desk);
        if (i == 1)
            test_ring_function(&desk.rings[0], NR_FUNCTIONS);
        next_segment(&desk);
        put(&desk);
        drain(&desk);
    }
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS + 1);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS + 1);
    /* Older segments were dropped: the symbols are in each. */
    dump_has(&desk, 2, 2 * 6 + 2 * 6 - 6, test_ring_count(), 2 * NR_FUNCTIONS + 1);
    dump_has(&desk, 4, test_ring_count() - 6, test_ring_count(), 2 * NR_FUNCTIONS + 1);
    end(&desk);
}

static void a_ring_that_ended_is_there_with_its_name(void)
{
    struct test_found found = {0};
    struct fg_dumped dumped;
    struct desk desk;

    begin(&desk);
    put(&desk);
    drain(&desk);
    assert(fg_recorder_finish(&desk.recorder, 0) == 0);
    next_segment(&desk); /* the other one is number 0 from here on */
    test_ring_put(&desk.rings[1], 1, 2, FG_SUBBUF_FULL);
    drain(&desk);
    assert(dump_from(&desk, 0, &dumped) == 0);
    test_find_path(target, &found);
    test_has_records(&found, 0, test_ring_count());
    assert(found.nr_rings == 2 && found.nr_symbols == 2 * NR_FUNCTIONS);
    end(&desk);
}

static void losses_of_dropped_segments_are_not_told(void)
{
    struct fg_recorder reader;
    struct fg_recorder_counts counts;
    struct fg_dumped dumped;
    struct desk desk;

    begin(&desk);
    atomic_store(&desk.rings[0].header->records_lost, 5);
    put(&desk);
    drain(&desk);
    next_segment(&desk);
    atomic_store(&desk.rings[0].header->records_lost, 7);
    put(&desk);
    drain(&desk);
    for (int first = 0; first < 2; first++) {
        assert(dump_from(&desk, first, &dumped) == 0);
        assert(fg_recorder_open(&reader, target, FG_TRACE_CLOCK_MONO, true) == 0);
        assert(fg_recorder_totals(&reader, &counts) == 0);
        assert(counts.lost == (first ? 2 : 7) && counts.records == (first ? 6 : 12));
        fg_recorder_close(&reader);
    }
    end(&desk);
}

static void what_a_task_writes_just_now_is_there(void)
{
    struct desk desk;
    uint32_t owned;

    begin(&desk);
    put(&desk);
    drain(&desk);
    owned = test_ring_put(&desk.rings[0], 1, 4, FG_SUBBUF_OWNED);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    next_segment(&desk); /* the task is not in it yet */
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    dump_has(&desk, 1, 6, test_ring_count(), 2 * NR_FUNCTIONS);
    test_ring_append(&desk.rings[0], owned, 2);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    test_ring_fill(&desk.rings[0], owned);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    end(&desk);
}

/* The rings were not drained, and a task's newest sub-buffer is not its only one. */
static void what_is_full_is_there_before_what_is_not(void)
{
    struct desk desk;

    begin(&desk);
    put(&desk);
    test_ring_put(&desk.rings[0], 1, 2, FG_SUBBUF_OWNED);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    end(&desk);
}

/* ---- the program goes on meanwhile */

static struct desk *busy;
static long nr_calls, fatal_call;
static uint32_t owned_now, next_id, count_before;

/* At one read of a ring the task fills its sub-buffer and another one, and begins a third. The function is
 * new. */
static void busy_program(int fd)
{
    (void)fd;
    if (++nr_calls != fatal_call)
        return;
    test_ring_function(&busy->rings[0], next_id++);
    test_ring_append(&busy->rings[0], owned_now, 2);
    test_ring_fill(&busy->rings[0], owned_now);
    test_ring_put(&busy->rings[0], 1, 2, FG_SUBBUF_FULL);
    owned_now = test_ring_put(&busy->rings[0], 1, 2, FG_SUBBUF_OWNED);
}

static int64_t busy_at_write(int fd, size_t bytes)
{
    busy_program(fd);
    return (int64_t)bytes;
}

/* The dump has what came up to its beginning, and perhaps more, but no gap. Return: whether it came to that
 * call. */
static bool has_no_gap(long call, bool at_write, bool has_drained)
{
    struct test_found found = {0};
    struct fg_dumped dumped;
    struct desk desk;
    uint32_t end_record;

    begin(&desk);
    put(&desk);
    drain(&desk);
    test_ring_put(&desk.rings[1], 1, 1, FG_SUBBUF_FULL);
    if (has_drained) /* some sub-buffers before it are free again, and others come after it */
        drain(&desk);
    owned_now = test_ring_put(&desk.rings[0], 1, 3, FG_SUBBUF_OWNED);
    busy = &desk;
    next_id = NR_FUNCTIONS;
    count_before = test_ring_count();
    nr_calls = 0;
    fatal_call = call;
    test_on_read = at_write ? NULL : busy_program;
    test_on_write = at_write ? busy_at_write : NULL;
    assert(dump_from(&desk, 0, &dumped) == 0);
    test_on_read = NULL;
    test_on_write = NULL;
    test_find_path(target, &found);
    for (end_record = 0; found.records[end_record]; end_record++)
        ;
    test_has_records(&found, 0, end_record);
    assert(end_record >= count_before);
    assert(found.nr_symbols >= 2 * NR_FUNCTIONS);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS + (next_id - NR_FUNCTIONS));
    end(&desk);
    return next_id > NR_FUNCTIONS;
}

static void what_comes_during_a_dump_leaves_no_gap(void)
{
    for (int at_write = 0; at_write < 2; at_write++)
        for (int has_drained = 0; has_drained < 2; has_drained++) {
            long call = 1;

            while (has_no_gap(call, at_write, has_drained))
                call++;
            assert(call > 10);
        }
}

/* Functions that are met while a segment begins have their names in the dump. */
static bool has_names_of_a_new_segment(long call)
{
    struct desk desk;

    begin(&desk);
    put(&desk);
    drain(&desk);
    busy = &desk;
    owned_now = test_ring_put(&desk.rings[0], 1, 1, FG_SUBBUF_OWNED);
    next_id = NR_FUNCTIONS;
    nr_calls = 0;
    fatal_call = call;
    test_on_write = busy_at_write;
    next_segment(&desk);
    test_on_write = NULL;
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS + (next_id - NR_FUNCTIONS));
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS + (next_id - NR_FUNCTIONS));
    end(&desk);
    return next_id > NR_FUNCTIONS;
}

static void what_comes_while_a_segment_begins_is_there_once(void)
{
    long call = 1;

    while (has_names_of_a_new_segment(call))
        call++;
    assert(call > 10);
}

/* ---- writes that fail */

static size_t room;
static int full_fd; /* only this file's writes fail; -1: all */

static bool is_full_file(int fd)
{
    struct stat one, other;

    assert(fstat(fd, &one) == 0);
    return full_fd < 0 || (fstat(full_fd, &other) == 0 && one.st_ino == other.st_ino);
}

static int64_t full_disk(int fd, size_t bytes)
{
    if (!is_full_file(fd) || ++nr_calls < fatal_call)
        return (int64_t)bytes;
    return nr_calls == fatal_call && room && room < bytes ? (int64_t)room : -ENOSPC;
}

static void fail_from(long call, size_t bytes, int fd)
{
    nr_calls = 0;
    fatal_call = call;
    room = bytes;
    full_fd = fd;
    test_on_write = full_disk;
}

static void write_older(void)
{
    int fd = open(target, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    assert(fd >= 0 && write(fd, "older", 5) == 5);
    close(fd);
}

static bool is_older(void)
{
    char text[6] = "";
    int fd = open(target, O_RDONLY);

    assert(fd >= 0 && read(fd, text, 5) == 5);
    close(fd);
    return strcmp(text, "older") == 0;
}

static bool survives_failure(long call, size_t bytes)
{
    struct fg_dumped dumped;
    struct desk desk;
    int error;

    begin(&desk);
    put(&desk);
    drain(&desk);
    next_segment(&desk);
    put(&desk);
    test_ring_put(&desk.rings[0], 1, 2, FG_SUBBUF_OWNED);
    write_older();
    fail_from(call, bytes, -1);
    error = dump_from(&desk, 0, &dumped);
    test_on_write = NULL;
    assert(error == 0 || error == -ENOSPC);
    assert(is_older() == (error < 0));
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    end(&desk);
    return error < 0;
}

static void a_dump_is_whole_or_not_there(void)
{
    static const size_t rooms[] = {0, 1, 72, 100};

    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++) {
        long call = 1;

        while (survives_failure(call, rooms[i]))
            call++;
        assert(call > 20);
    }
}

static void a_dump_has_no_more_bytes_than_the_limit(void)
{
    struct rlimit limit, small;
    struct fg_dumped dumped;
    struct desk desk;

    signal(SIGXFSZ, SIG_IGN);
    begin(&desk);
    put(&desk);
    drain(&desk);
    write_older();
    assert(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    for (rlim_t bytes = 0; bytes < 1000; bytes += 100) {
        small = (struct rlimit){bytes, limit.rlim_max};
        assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
        assert(dump_from(&desk, 0, &dumped) == -EFBIG);
        assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        assert(is_older());
    }
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    end(&desk);
}

/* There is no memory for the recorder's own segment. What it has is written nevertheless, up to a moment. */
static void a_full_segment_is_dumped(void)
{
    struct desk desk;
    uint32_t count;
    long call = 1;

    do {
        struct test_found found = {0};
        struct fg_dumped dumped;

        begin(&desk);
        put(&desk);
        drain(&desk);
        count = test_ring_count();
        test_ring_put(&desk.rings[0], 1, 2, FG_SUBBUF_FULL);
        test_ring_put(&desk.rings[0], 1, 2, FG_SUBBUF_OWNED);
        fail_from(call, 0, desk.segments[0]);
        assert(dump_from(&desk, 0, &dumped) == 0);
        test_on_write = NULL;
        test_find_path(target, &found);
        assert(found.nr_records >= count);
        test_has_records(&found, 0, (uint32_t)found.nr_records);
        dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
        end(&desk);
    } while (nr_calls >= call++);
    assert(call > 5);
}

/* ---- boundaries */

static void append_ring(struct fg_spool *spool, uint32_t number, uint32_t pid)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_RING, .ring = number};
    struct fg_spool_ring facts = {.pid = pid, .clock_start = {1, 1}};
    uint64_t offset;

    assert(fg_spool_append(spool, &chunk, &facts, sizeof(facts), &offset) == 0);
}

/* Segments that another recorder wrote: as many rings as a trace can have, half of them in both. */
static int dump_of_rings(uint32_t nr_rings)
{
    uint32_t half = nr_rings / 2;
    struct fg_recorder recorder;
    struct fg_spool spool[2];
    struct fg_dumped dumped;
    int fds[3], error;

    for (int i = 0; i < 3; i++)
        fds[i] = memory_file();
    for (int i = 0; i < 2; i++)
        assert(fg_spool_create_in(&spool[i], fds[i]) == 0);
    for (uint32_t i = 0; i < half; i++)
        append_ring(&spool[0], i, i);
    for (uint32_t i = 0; i < nr_rings - half / 2; i++)
        append_ring(&spool[1], i, half / 2 + i);
    assert(fg_recorder_open_in(&recorder, fds[2], FG_TRACE_CLOCK_MONO) == 0);
    error = fg_recorder_dump(&recorder, fds, 2, "{}", 2, target, &dumped);
    fg_recorder_close(&recorder);
    for (int i = 0; i < 2; i++)
        fg_spool_close(&spool[i]);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    return error;
}

static void as_many_rings_as_a_trace_can_have(void)
{
    struct test_found found = {0};

    unlink(target);
    assert(dump_of_rings(FG_CONTENTS_MAX_RINGS + 1) == -ENOSPC);
    assert(access(target, F_OK) < 0);
    assert(dump_of_rings(FG_CONTENTS_MAX_RINGS) == 0);
    test_find_path(target, &found);
    assert(found.nr_rings == FG_CONTENTS_MAX_RINGS);
}

static void a_place_that_cannot_be_used_is_an_error(void)
{
    struct fg_dumped dumped;
    struct desk desk;

    begin(&desk);
    put(&desk);
    assert(fg_recorder_dump(&desk.recorder, NULL, 0, "{}", 2, folder, &dumped) == -EISDIR);
    assert(fg_recorder_dump(&desk.recorder, NULL, 0, "{}", 2, "/dev/null", &dumped) == -ENOTSUP);
    assert(fg_recorder_dump(&desk.recorder, NULL, 0, "{}", 2, "/tmp/no-such-folder/dump", &dumped) < 0);
    dump_has(&desk, 0, 0, test_ring_count(), 2 * NR_FUNCTIONS);
    end(&desk);
}

int main(void)
{
    assert(mkdtemp(folder));
    snprintf(target, sizeof(target), "%s/trace.fg", folder);
    all_segments_are_one_trace();
    a_ring_that_ended_is_there_with_its_name();
    losses_of_dropped_segments_are_not_told();
    what_a_task_writes_just_now_is_there();
    what_is_full_is_there_before_what_is_not();
    what_comes_during_a_dump_leaves_no_gap();
    what_comes_while_a_segment_begins_is_there_once();
    a_dump_is_whole_or_not_there();
    a_dump_has_no_more_bytes_than_the_limit();
    a_full_segment_is_dumped();
    as_many_rings_as_a_trace_can_have();
    a_place_that_cannot_be_used_is_an_error();
    unlink(target);
    assert(rmdir(folder) == 0); /* no temporary file is left */
    return 0;
}
