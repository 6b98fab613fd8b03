/* A ring's memory. Nobody touches a page of the sparse file that was not allocated. A full file system
 * sends the ring to the spare folder. A process reserves little address space. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 64, KB = 8192 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic bool is_full;
static uint64_t free_blocks = UINT64_MAX;

/* Replaces the C library's function to simulate a full file system: all but the spare folder's. */
int posix_fallocate(int fd, off_t offset, off_t bytes)
{
    char link[64], path[256];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    if (atomic_load(&is_full) && !strstr(path, "/" FG_RING_SPARE "/"))
        return ENOSPC;
    return fallocate(fd, 0, offset, bytes) == 0 ? 0 : errno;
}

/* Replaces the C library's function to simulate a file system of 64 MiB with so many pages free. */
int fstatvfs(int fd, struct statvfs *room)
{
    (void)fd;
    *room = (struct statvfs){.f_frsize = 4096, .f_blocks = 16384, .f_bavail = 16384};
    if (free_blocks < room->f_bavail)
        room->f_bavail = free_blocks;
    return 0;
}

static void calls(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
}

static uint64_t blocks_of(const char *path)
{
    struct stat status;

    CHECK_EQ(stat(path, &status), 0);
    return (uint64_t)status.st_blocks;
}

/* Fails if the reader maps the file and looks for leftovers in it: each look allocated a page, and a full
 * file system raised SIGBUS. */
static void test_reading_a_ring_allocates_nothing(void)
{
    char path[128];
    uint64_t before;
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.kb = KB, .mode = FG_RING_DROP});
    calls(1000);
    strcpy(path, session_ring(&session, getpid()));
    before = blocks_of(path);
    CHECK(before < 1024); /* blocks of 512 bytes: less than 512 KiB of 8 MiB */
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 2000);
    CHECK_EQ(session.tally.nr_functions, NR_FUNCS);
    CHECK_EQ(blocks_of(path), before);
    session_end(&session);
}

/* Fails without the spare folder: the process could not be traced. */
static void test_a_ring_lies_in_the_spare_folder_when_the_file_system_is_full(void)
{
    char own[sizeof(session.directory)], spare[sizeof(session.directory) + 8];
    int handle;

    session_begin(&session);
    strcpy(own, session.directory);
    snprintf(spare, sizeof(spare), "%s/%s", own, FG_RING_SPARE);
    atomic_store(&is_full, true);
    CHECK_EQ(session_try_trace(&session, &(struct session_trace){.kb = KB}, &handle), -ENOSPC);
    CHECK_EQ(mkdir(spare, 0700), 0);
    handle = session_trace(&session, &(struct session_trace){.kb = KB, .mode = FG_RING_DROP});
    calls(20000); /* several sub-buffers, and new symbols */
    CHECK_EQ(fg_instance_stop(handle), 0);
    atomic_store(&is_full, false);
    CHECK(access(session_ring(&session, getpid()), F_OK) != 0);
    strcpy(session.directory, spare);
    session_read(&session);
    CHECK_EQ(session.tally.records, 40000);
    session_end(&session);
    strcpy(session.directory, own);
    session_end(&session);
}

/* Fails if a ring grows into the last part of the file system: processes that started later had no memory
 * for theirs. */
static void test_the_last_part_of_a_file_system_is_for_processes_to_come(void)
{
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.kb = KB, .mode = FG_RING_DROP});
    free_blocks = 16384 / 4;
    calls(100000);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.highest_index, 7);
    CHECK(session.tally.records_lost > 0);
    session_end(&session);
    free_blocks = UINT64_MAX;
}

static uint64_t address_space(void)
{
    uint64_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    CHECK(file != NULL);
    CHECK_EQ(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages * 4096;
}

/* Fails if the whole file is mapped: 64 MiB of it are for symbols. */
static void test_address_space_is_reserved_by_need(void)
{
    uint64_t before = address_space();
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.kb = KB, .mode = FG_RING_DROP});
    calls(1000);
    CHECK(address_space() - before < (KB << 10) + (2u << 20));
    before = address_space();
    session_open(&session); /* what a recorder maps */
    CHECK(address_space() - before < (1u << 20));
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.records, 2000);
    session_end(&session);
}

/* Fails if the ring ignores the process's limit: its threads could not start. */
static void test_a_process_with_a_limit_gets_a_smaller_ring(void)
{
    struct rlimit unlimited, few;
    uint64_t before;
    int handle;

    CHECK_EQ(getrlimit(RLIMIT_AS, &unlimited), 0);
    few = (struct rlimit){128u << 20, unlimited.rlim_max};
    session_begin(&session);
    before = address_space();
    if (before > few.rlim_cur / 2)
        few.rlim_cur = 0; /* a sanitizer reserves terabytes: no limit can be set */
    if (few.rlim_cur)
        CHECK_EQ(setrlimit(RLIMIT_AS, &few), 0);
    handle = session_trace(&session, &(struct session_trace){.kb = KB, .mode = FG_RING_DROP});
    CHECK(!few.rlim_cur || address_space() - before < (3u << 20));
    CHECK_EQ(setrlimit(RLIMIT_AS, &unlimited), 0);
    calls(1000);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 2000);
    session_end(&session);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_reading_a_ring_allocates_nothing();
    test_a_ring_lies_in_the_spare_folder_when_the_file_system_is_full();
    test_the_last_part_of_a_file_system_is_for_processes_to_come();
    test_address_space_is_reserved_by_need();
    test_a_process_with_a_limit_gets_a_smaller_ring();
    return 0;
}
