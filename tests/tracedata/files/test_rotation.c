/* Promise: files that follow one another have each record once, and each of them a ring's symbols once. A
 * rotation that fails, at whatever write, leaves no file, and the recorder goes on with the old one. */
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
#include "tracedata/recorder/rotation.h"

#define NR_FUNCTIONS 3u

static char folder[] = "/tmp/fg-rotation-XXXXXX";

static const char *path_of(const char *name)
{
    static char paths[4][64];
    static unsigned next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
    return path;
}

static bool exists(const char *name)
{
    return access(path_of(name), F_OK) == 0;
}

/* ---- a recorder with two rings, and a file "old" */

struct desk {
    struct fg_recorder recorder;
    struct test_ring rings[2];
};

static void begin(struct desk *desk)
{
    test_ring_restart();
    unlink(path_of("old"));
    unlink(path_of("new"));
    assert(fg_recorder_open(&desk->recorder, path_of("old"), FG_TRACE_CLOCK_MONO, false) == 0);
    assert(fg_recorder_describe(&desk->recorder, "{\"tracer\": \"nop\"}", 17) == 0);
    for (uint32_t i = 0; i < 2; i++) {
        test_ring_begin(&desk->rings[i], 100 + i);
        for (uint32_t id = 0; id < NR_FUNCTIONS; id++)
            test_ring_function(&desk->rings[i], id);
        assert(fg_recorder_add_ring(&desk->recorder, desk->rings[i].fd, desk->rings[i].name, false) ==
               (int)i);
    }
}

static void end(struct desk *desk)
{
    fg_recorder_close(&desk->recorder);
    for (int i = 0; i < 2; i++)
        test_ring_end(&desk->rings[i]);
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

static int rotate(struct desk *desk, const char *name)
{
    struct fg_recorder_counts counts;

    return fg_recorder_rotate(&desk->recorder, path_of(name), &counts);
}

static void complete(struct desk *desk)
{
    for (uint32_t i = 0; i < desk->recorder.nr_rings; i++)
        if (desk->recorder.rings[i].reader)
            assert(fg_recorder_finish(&desk->recorder, i) == 0);
    assert(fg_recorder_complete(&desk->recorder) == 0);
}

/* Has all records so far in these files, and all symbols once in each. */
static void has_all(const char *first, const char *second, uint64_t nr_symbols)
{
    struct test_found found = {0};
    const char *names[] = {first, second};

    for (int i = 0; i < 2 && names[i]; i++) {
        uint64_t before = found.nr_symbols;

        test_find_path(path_of(names[i]), &found);
        assert(found.is_complete);
        assert(i > 0 || found.nr_symbols - before <= nr_symbols);
    }
    test_has_records(&found, 0, test_ring_count());
    found = (struct test_found){0};
    test_find_path(path_of(second ? second : first), &found); /* the last one has all symbols */
    assert(found.nr_symbols == nr_symbols && found.nr_functions == nr_symbols);
}

/* ---- writes that fail */

static long nr_writes, fatal_write;
static size_t room; /* of the fatal write: the bytes that are written before it fails */

static int64_t full_disk(int fd, size_t bytes)
{
    (void)fd;
    if (++nr_writes < fatal_write)
        return (int64_t)bytes;
    if (nr_writes == fatal_write && room && room < bytes)
        return (int64_t)room;
    return nr_writes <= fatal_write + (room != 0) ? -ENOSPC : (int64_t)bytes;
}

static int no_truncation(int fd)
{
    (void)fd;
    return -EIO;
}

static void fail_at(long write, size_t bytes)
{
    nr_writes = 0;
    fatal_write = write;
    room = bytes;
    test_on_write = full_disk;
}

/* The rotation fails at one write. New symbols came since the rings were drained.
 * Return: whether there was such a write. */
static bool survives_failure(long write, size_t bytes, bool truncates)
{
    struct desk desk;
    int error;

    begin(&desk);
    put(&desk);
    drain(&desk);
    for (int i = 0; i < 2; i++)
        test_ring_function(&desk.rings[i], NR_FUNCTIONS);
    fail_at(write, bytes);
    test_on_truncate = truncates ? NULL : no_truncation;
    error = rotate(&desk, "new");
    test_on_write = NULL;
    test_on_truncate = NULL;
    put(&desk);
    drain(&desk);
    complete(&desk);
    end(&desk);
    assert(error == 0 || error == -ENOSPC);
    assert(exists("new") == (error == 0));
    has_all("old", error == 0 ? "new" : NULL, 2 * (NR_FUNCTIONS + 1));
    return error < 0;
}

static void a_failed_write_changes_nothing(void)
{
    static const size_t rooms[] = {0, 1, 50, 72, 100};
    long write = 1;

    for (size_t i = 0; i < sizeof(rooms) / sizeof(*rooms); i++)
        for (int truncates = 0; truncates < 2; truncates++) {
            for (write = 1; survives_failure(write, rooms[i], truncates); write++)
                assert(write < 100);
            assert(write > 10); /* the clock, and of each ring three chunks, and the directory and footer */
        }
}

/* The failed rotation's recorder is killed: what it left is gone on with. */
static bool is_resumed_after_failure(long write)
{
    struct desk desk;
    int error;

    begin(&desk);
    put(&desk);
    drain(&desk);
    for (int i = 0; i < 2; i++)
        test_ring_function(&desk.rings[i], NR_FUNCTIONS);
    fail_at(write, 0);
    error = rotate(&desk, "new");
    test_on_write = NULL;
    put(&desk);
    drain(&desk);
    for (int i = 0; i < 2; i++)
        test_ring_function(&desk.rings[i], NR_FUNCTIONS + 1);
    put(&desk);
    fg_recorder_close(&desk.recorder);
    assert(fg_recorder_open(&desk.recorder, path_of(error ? "old" : "new"), FG_TRACE_CLOCK_MONO, true) == 0);
    for (int i = 0; i < 2; i++)
        assert(fg_recorder_add_ring(&desk.recorder, desk.rings[i].fd, desk.rings[i].name, false) == i);
    complete(&desk);
    end(&desk);
    has_all("old", error == 0 ? "new" : NULL, 2 * (NR_FUNCTIONS + 2));
    return error < 0;
}

static void a_killed_recorder_has_all_symbols(void)
{
    for (long write = 1; is_resumed_after_failure(write); write++)
        assert(write < 100);
}

static void a_file_has_no_more_bytes_than_the_limit(void)
{
    struct rlimit limit, small;
    struct desk desk;
    struct stat status;

    signal(SIGXFSZ, SIG_IGN);
    begin(&desk);
    put(&desk);
    drain(&desk);
    assert(stat(path_of("old"), &status) == 0 && getrlimit(RLIMIT_FSIZE, &limit) == 0);
    small = (struct rlimit){(rlim_t)status.st_size + 8, limit.rlim_max};
    assert(setrlimit(RLIMIT_FSIZE, &small) == 0);
    assert(rotate(&desk, "new") == -EFBIG);
    assert(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    assert(!exists("new"));
    put(&desk);
    drain(&desk);
    assert(rotate(&desk, "new") == 0);
    complete(&desk);
    end(&desk);
    has_all("old", "new", 2 * NR_FUNCTIONS);
}

/* ---- the program goes on meanwhile */

static struct desk *busy;
static uint32_t next_id;

/* The traced process meets a function and fills a sub-buffer. */
static int64_t busy_program(int fd, size_t bytes)
{
    (void)fd;
    if (++nr_writes == fatal_write) {
        test_ring_function(&busy->rings[0], next_id++);
        test_ring_put(&busy->rings[0], 2, 2, FG_SUBBUF_FULL);
    }
    return (int64_t)bytes;
}

static bool has_what_came_during(long write)
{
    struct desk desk;

    begin(&desk);
    put(&desk);
    drain(&desk);
    busy = &desk;
    next_id = NR_FUNCTIONS;
    fail_at(write, 0);
    test_on_write = busy_program;
    assert(rotate(&desk, "new") == 0);
    test_on_write = NULL;
    complete(&desk);
    end(&desk);
    has_all("old", "new", 2 * NR_FUNCTIONS + (next_id - NR_FUNCTIONS));
    return next_id > NR_FUNCTIONS;
}

static void what_comes_during_a_rotation_is_there_once(void)
{
    long write = 1;

    while (has_what_came_during(write))
        write++;
    assert(write > 10);
}

/* ---- boundaries */

/* A sub-buffer was claimed, and its append failed: it is appended to the new file. */
static void a_claimed_sub_buffer_goes_on(void)
{
    struct desk desk;

    begin(&desk);
    put(&desk);
    drain(&desk);
    put(&desk);
    fail_at(1, 0);
    assert(fg_recorder_drain(&desk.recorder, 0) == -ENOSPC);
    test_on_write = NULL;
    assert(desk.recorder.rings[0].has_chunk);
    test_ring_function(&desk.rings[0], NR_FUNCTIONS); /* reading symbols leaves the claimed records alone */
    assert(rotate(&desk, "new") == 0);
    assert(desk.recorder.rings[0].has_chunk);
    complete(&desk);
    end(&desk);
    has_all("old", "new", 2 * NR_FUNCTIONS + 1);
}

static void a_finished_ring_is_not_in_the_new_file(void)
{
    struct test_found found = {0};
    struct desk desk;

    begin(&desk);
    put(&desk);
    drain(&desk);
    assert(fg_recorder_finish(&desk.recorder, 0) == 0);
    assert(rotate(&desk, "new") == 0);
    assert(desk.recorder.nr_rings == 1 && desk.recorder.rings[0].former == 1);
    assert(fg_recorder_finish(&desk.recorder, 1) == -ESRCH);
    test_ring_put(&desk.rings[1], 1, 1, FG_SUBBUF_FULL);
    drain(&desk);
    complete(&desk);
    end(&desk);
    test_find_path(path_of("new"), &found);
    assert(found.nr_rings == 1 && found.nr_records == 1 && found.nr_symbols == NR_FUNCTIONS);
    test_find_path(path_of("old"), &found);
    test_has_records(&found, 0, test_ring_count());
}

static void a_recorder_without_rings_rotates(void)
{
    struct test_found found = {0};
    struct fg_recorder recorder;
    struct fg_recorder_counts counts;

    unlink(path_of("old"));
    unlink(path_of("new"));
    assert(fg_recorder_open(&recorder, path_of("old"), FG_TRACE_CLOCK_MONO, false) == 0);
    assert(fg_recorder_rotate(&recorder, path_of("new"), &counts) == 0);
    assert(counts.records == 0 && counts.processes == 0);
    assert(fg_recorder_complete(&recorder) == 0);
    fg_recorder_close(&recorder);
    test_find_path(path_of("old"), &found);
    assert(found.is_complete);
    test_find_path(path_of("new"), &found);
    assert(found.is_complete && found.nr_rings == 0);
}

static void each_file_tells_its_own_counts(void)
{
    struct fg_recorder_counts counts;
    struct desk desk;

    begin(&desk);
    put(&desk);
    atomic_store(&desk.rings[0].header->records_lost, 5);
    drain(&desk);
    assert(fg_recorder_rotate(&desk.recorder, path_of("new"), &counts) == 0);
    assert(counts.records == 6 && counts.lost == 5 && counts.processes == 2 && counts.tasks == 2);
    assert(fg_recorder_totals(&desk.recorder, &counts) == 0);
    assert(counts.records == 0 && counts.lost == 0);
    atomic_store(&desk.rings[0].header->records_lost, 7);
    unlink(path_of("old"));
    assert(fg_recorder_rotate(&desk.recorder, path_of("old"), &counts) == 0);
    assert(counts.records == 0 && counts.lost == 2);
    /* What is lost while a rotation fails is told by the file that goes on. */
    atomic_store(&desk.rings[0].header->records_lost, 8);
    fail_at(6, 0);
    assert(rotate(&desk, "third") == -ENOSPC);
    test_on_write = NULL;
    assert(fg_recorder_rotate(&desk.recorder, path_of("third"), &counts) == 0);
    assert(counts.lost == 1);
    assert(fg_recorder_totals(&desk.recorder, &counts) == 0);
    assert(counts.lost == 0);
    end(&desk);
    unlink(path_of("third"));
}

static void a_place_that_cannot_be_used_is_an_error(void)
{
    struct desk desk;
    int small;

    begin(&desk);
    put(&desk);
    assert(rotate(&desk, "old") == -EEXIST);
    assert(rotate(&desk, "missing/new") == -ENOENT);
    for (off_t bytes = 0; bytes < 700; bytes += 20) { /* no room for this or that */
        struct fg_recorder_counts counts;

        small = memfd_create("small", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        assert(small >= 0 && ftruncate(small, bytes) == 0 && fcntl(small, F_ADD_SEALS, F_SEAL_GROW) == 0);
        assert(fg_recorder_rotate_in(&desk.recorder, small, &counts) == -EPERM);
        close(small);
    }
    drain(&desk);
    complete(&desk);
    fg_recorder_close(&desk.recorder);
    assert(fg_recorder_open(&desk.recorder, path_of("old"), FG_TRACE_CLOCK_MONO, true) == 0);
    assert(rotate(&desk, "new") == -EINVAL); /* a resumed spool */
    assert(!exists("new"));
    assert(fg_recorder_complete(&desk.recorder) == 0);
    end(&desk);
    has_all("old", NULL, 2 * NR_FUNCTIONS);
}

int main(void)
{
    assert(mkdtemp(folder));
    a_failed_write_changes_nothing();
    a_killed_recorder_has_all_symbols();
    a_file_has_no_more_bytes_than_the_limit();
    what_comes_during_a_rotation_is_there_once();
    a_claimed_sub_buffer_goes_on();
    a_finished_ring_is_not_in_the_new_file();
    a_recorder_without_rings_rotates();
    each_file_tells_its_own_counts();
    a_place_that_cannot_be_used_is_an_error();
    unlink(path_of("old"));
    unlink(path_of("new"));
    assert(rmdir(folder) == 0);
    return 0;
}
