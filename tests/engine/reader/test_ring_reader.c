/* How a reader gets at its file: by the descriptor that it was given, or by its mapping; never by a path. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 64, CALLS = 20000 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;

static int lowest_descriptor(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    CHECK(fd >= 0);
    CHECK_EQ(close(fd), 0);
    return fd;
}

/* Opens a ring, with few descriptors or many, and makes calls. Return: the instance's handle. */
static int begin_read(bool is_short)
{
    int handle;
    struct rlimit many, few;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.kb = 2048, .mode = FG_RING_DROP});
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &many), 0);
    few = (struct rlimit){is_short ? (rlim_t)lowest_descriptor() + 2 : many.rlim_cur, many.rlim_max};
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    session_open(&session);
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &many), 0);
    for (uint32_t i = 0; i < CALLS; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
    return handle;
}

static void finish(int handle)
{
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.records, 2 * CALLS);
    CHECK_EQ(session.tally.nr_functions, NR_FUNCS);
    session_end(&session);
}

/* Fails if a reader without a descriptor opens the path: it wrote into the file that a link there names. */
static void test_what_lies_at_the_path_later_is_neither_read_nor_written(bool is_short)
{
    char other[128], path[128];
    struct stat before, after;
    int handle = begin_read(is_short), fd;

    snprintf(other, sizeof(other), "/dev/shm/fgtest-other-%d", (int)getpid());
    fd = open(other, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK_EQ(ftruncate(fd, 128 << 20), 0);
    CHECK_EQ(fstat(fd, &before), 0);
    strcpy(path, session_ring(&session, getpid()));
    CHECK_EQ(unlink(path), 0);
    CHECK_EQ(symlink(other, path), 0);
    session_drain(&session);
    finish(handle);
    CHECK_EQ(fstat(fd, &after), 0);
    CHECK_EQ(after.st_blocks, before.st_blocks);
    CHECK_EQ(after.st_mtim.tv_nsec, before.st_mtim.tv_nsec);
    close(fd);
    unlink(other);
}

static int nr_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* Fails if the reader keeps a descriptor that it has no room for. */
static void test_a_reader_that_is_short_of_descriptors_keeps_none(void)
{
    int before = nr_descriptors(), handle = begin_read(true), few = nr_descriptors(), many;

    finish(handle);
    handle = begin_read(false);
    many = nr_descriptors();
    finish(handle);
    CHECK_EQ(few, before);
    CHECK_EQ(many, before + 1);
}

/* Fails if whoever reads from a pipe waits for it. */
static void test_pipes_are_no_rings(void)
{
    struct fg_ring_reader *reader;
    int ends[2];

    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(fg_ring_reader_open(ends[0], FG_RING_ANY_BYTES, false, &reader), -EINVAL);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_what_lies_at_the_path_later_is_neither_read_nor_written(false);
    test_what_lies_at_the_path_later_is_neither_read_nor_written(true);
    test_a_reader_that_is_short_of_descriptors_keeps_none();
    test_pipes_are_no_rings();
    return 0;
}
