/* Wait mode: nothing is lost while a recorder lives, however slow. Without a recorder the program
 * continues, and recording stops in every mode. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "engine/graph/user_list.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 64, NR_THREADS = 3 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic int fallocate_error;
static _Atomic uint32_t fallocates_left;

/* Replaces the C library's function to simulate a full file system. */
int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    if (atomic_load(&fallocate_error) && atomic_fetch_sub(&fallocates_left, 1) == 0) {
        atomic_store(&fallocates_left, 0);
        return atomic_load(&fallocate_error);
    }
    return fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}

static void *write_calls(void *arg)
{
    for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
    return NULL;
}

static int begin(const struct session_trace *trace)
{
    session_begin(&session);
    session_recorder_begins(&session);
    return session_trace(&session, trace);
}

static void end(int handle)
{
    CHECK_EQ(fg_instance_stop(handle), 0);
    if (!session.reader)
        session_open(&session);
    session_finish(&session);
    session_end(&session);
}

/* Fails if wait_for_release's result is inverted, or if the sub-buffer is taken before it is released. */
static void test_a_slow_reader_loses_nothing_and_the_waits_are_recorded(bool no_sleep_time)
{
    pthread_t threads[NR_THREADS];
    uint64_t n = 20000;
    int handle = begin(&(struct session_trace){.mode = FG_RING_WAIT, .no_sleep_time = no_sleep_time});

    session_open(&session);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], write_calls, &n);
    for (struct fg_ring_counts counts = {0}; !counts.waiters; usleep(100))
        fg_ring_reader_counts(session.reader, &counts);
    session_drain_begin(&session, 0, 500);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    session_drain_end(&session);
    end(handle);
    CHECK_EQ(session.tally.records, 2 * NR_THREADS * n);
    CHECK_EQ(session.tally.records_lost + session.tally.lost, 0);
    CHECK(session.tally.waits > 0);
    CHECK_EQ(session.tally.kinds[FG_RECORD_WAIT], session.tally.waits);
    CHECK(session.tally.wait_ticks > 0);
    /* The converter must not subtract these waits from durations that exclude them already. */
    CHECK_EQ(session.tally.waits_in_sleep, no_sleep_time ? session.tally.waits : 0);
}

/* Fails without recorder_lives: the program waited forever. Without `stopped` each later record was lost, and
 * tried the full ring again. */
static void test_recording_stops_when_the_recorder_is_gone(enum fg_ring_mode mode)
{
    uint64_t n = 100, ended = sim_ended();
    int handle = begin(&(struct session_trace){.mode = mode});

    session_recorder_dies(&session);
    while (!fg_instance_has_ended(handle))
        write_calls(&n);
    session_open(&session);
    session_drain(&session); /* now there would be room again */
    write_calls(&n);
    CHECK_EQ(sim_ended(), ended + 1);
    end(handle);
    CHECK(session.tally.records > 0 && session.tally.records_lost > 0);
    CHECK(session.tally.finished);
    if (mode == FG_RING_WAIT)
        CHECK_EQ(session.tally.records_lost, 1); /* the one that found the ring full */
}

static void *stop_later(void *arg)
{
    (void)arg;
    usleep(30000);
    fg_ring_reader_stop_writer(session.reader);
    return NULL;
}

/* Fails if wait_for_release does not test `stop`, or if the current record counts as lost. */
static void test_a_waiting_writer_stops_when_told(void)
{
    uint64_t n = 5000, ended = sim_ended();
    pthread_t stopper;
    int handle = begin(&(struct session_trace){.mode = FG_RING_WAIT});

    session_open(&session);
    sim_spawn(&stopper, stop_later, NULL);
    write_calls(&n);
    sim_join(stopper);
    end(handle);
    CHECK(session.tally.records > 0 && session.tally.records < 2 * n);
    CHECK_EQ(session.tally.records_lost, 0);
    CHECK_EQ(sim_ended(), ended + 1);
}

/* Fails if a ring is opened without a sub-buffer: all records were lost. */
static void test_a_file_system_that_is_full_from_the_start_loses_nothing(void)
{
    uint64_t n = 1000;
    int handle = begin(&(struct session_trace){.mode = FG_RING_WAIT});

    atomic_store(&fallocates_left, 0);
    atomic_store(&fallocate_error, ENOSPC);
    session_open(&session);
    session_drain_begin(&session, 0, 500);
    write_calls(&n);
    session_drain_end(&session);
    atomic_store(&fallocate_error, 0);
    end(handle);
    CHECK_EQ(session.tally.records, 2 * n);
    CHECK_EQ(session.tally.records_lost, 0);
    CHECK_EQ(session.tally.highest_index, 0);
}

/* Fails if records are lost, instead of waiting, when no sub-buffer is unused. */
static void test_a_file_system_that_fills_up_leaves_a_smaller_pool(void)
{
    uint64_t n = 5000;
    int handle = begin(&(struct session_trace){.mode = FG_RING_WAIT});

    sim_call_return(funcs[0]); /* the task's symbol and the first sub-buffer */
    atomic_store(&fallocates_left, 2);
    atomic_store(&fallocate_error, ENOSPC);
    session_open(&session);
    session_drain_begin(&session, 0, 500);
    write_calls(&n);
    session_drain_end(&session);
    atomic_store(&fallocate_error, 0);
    end(handle);
    CHECK_EQ(session.tally.records, 2 * n + 2);
    CHECK_EQ(session.tally.records_lost, 0);
}

/* open(2) fails for lack of free descriptors. Fails if that counts as a dead recorder (records were
 * lost), or as a full disk (the pool stayed small forever). */
static void test_a_program_without_file_descriptors_loses_nothing(void)
{
    struct rlimit before, few;
    uint64_t n = 3000;
    int handle = begin(&(struct session_trace){.mode = FG_RING_WAIT});

    sim_call_return(funcs[0]);
    session_open(&session);
    getrlimit(RLIMIT_NOFILE, &before);
    few = (struct rlimit){3, before.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK(open("/dev/null", O_RDONLY) < 0 && errno == EMFILE);
    /* Long enough for several checks whether the recorder lives. */
    session_drain_begin(&session, 100000, 500);
    write_calls(&n);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    session_drain_end(&session);
    session_drain(&session);
    write_calls(&(uint64_t){500}); /* five sub-buffers, and no reader drains them */
    end(handle);
    CHECK_EQ(session.tally.records, 2 * (n + 500 + 1));
    CHECK(session.tally.highest_index >= 4);
    CHECK_EQ(session.tally.records_lost, 0);
}

/* A program that changes its root directory or its user can no longer open a file of the session: neither
 * the lock nor the ring's. Fails if that counts as a dead recorder: all further records were lost, and
 * nothing was said. Fails also if it counts as a full disk, or if symbols of new functions find no room. */
static void test_a_program_that_no_longer_reaches_the_session_loses_nothing(void)
{
    enum { NR_LATE = 2000 };
    static struct fg_func *late[NR_LATE];
    uint64_t n = 20000;
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    session_page_make(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_WAIT});
    session_open(&session);
    session_hide(&session, true);
    sim_functions(late, NR_LATE);
    /* Long enough for several checks whether the recorder lives. */
    session_drain_begin(&session, 100000, 500);
    for (uint32_t i = 0; i < NR_LATE; i++)
        sim_call_return(late[i]);
    write_calls(&n);
    session_drain_end(&session);
    session_hide(&session, false);
    end(handle);
    CHECK_EQ(session.tally.records, 2 * (n + NR_LATE));
    CHECK_EQ(session.tally.nr_functions, NR_FUNCS + NR_LATE);
    CHECK_EQ(session.tally.records_lost, 0);
    CHECK_EQ(session.tally.highest_index, 7);
    for (uint32_t i = 0; i < NR_LATE; i++)
        sim_free(late[i]);
}

/* Fails if the process id of the recorder is not asked for: the program waited forever. */
static void test_a_program_that_no_longer_reaches_the_session_stops_without_a_recorder(void)
{
    uint64_t n = 100, ended = sim_ended();
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    session_page_make(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_WAIT});
    session_hide(&session, true);
    session_recorder_dies(&session);
    while (!fg_instance_has_ended(handle))
        write_calls(&n);
    CHECK_EQ(sim_ended(), ended + 1);
    session_hide(&session, false);
    end(handle);
    CHECK_EQ(session.tally.records_lost, 1);
}

/* Fails without fg_ring_forget in ring_start: a file was left over. */
static void test_a_file_that_cannot_be_made_is_an_error_and_leaves_nothing(void)
{
    struct session_trace trace = {0};
    int handle;

    session_begin(&session);
    atomic_store(&fallocates_left, 0);
    atomic_store(&fallocate_error, ENOSPC);
    CHECK_EQ(session_try_trace(&session, &trace, &handle), -ENOSPC);
    atomic_store(&fallocate_error, 0);
    CHECK_EQ(rmdir(session.directory), 0);
    CHECK_EQ(session_try_trace(&session, &trace, &handle), -ENOENT);
    trace.kb = 1;
    CHECK_EQ(session_try_trace(&session, &trace, &handle), -EINVAL);
    CHECK_EQ(fg_instance_count(), 0);
    CHECK(!fg_func_has_users(funcs[0]));
}

/* Fails if errno comes from a later access(2): the reason was EEXIST, after 10,000 tries. */
static void test_a_directory_that_is_a_file_is_told_as_such(void)
{
    char path[sizeof(session.directory)];
    int handle;

    session_begin(&session);
    strcpy(path, session.directory);
    strcat(session.directory, "/x");
    close(open(session.directory, O_CREAT | O_WRONLY, 0600));
    CHECK_EQ(session_try_trace(&session, &(struct session_trace){0}, &handle), -ENOTDIR);
    strcpy(session.directory, path);
    session_end(&session);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_a_slow_reader_loses_nothing_and_the_waits_are_recorded(false);
    test_a_slow_reader_loses_nothing_and_the_waits_are_recorded(true);
    for (enum fg_ring_mode mode = FG_RING_WAIT; mode <= FG_RING_OVERWRITE; mode++)
        test_recording_stops_when_the_recorder_is_gone(mode);
    test_a_waiting_writer_stops_when_told();
    test_a_file_system_that_is_full_from_the_start_loses_nothing();
    test_a_file_system_that_fills_up_leaves_a_smaller_pool();
    test_a_program_without_file_descriptors_loses_nothing();
    test_a_program_that_no_longer_reaches_the_session_loses_nothing();
    test_a_program_that_no_longer_reaches_the_session_stops_without_a_recorder();
    test_a_file_that_cannot_be_made_is_an_error_and_leaves_nothing();
    test_a_directory_that_is_a_file_is_told_as_such();
    return 0;
}
