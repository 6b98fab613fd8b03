/* Promise: pieces that are read ahead are those that reading them one by one gives, in whatever turn the runs
 * are read. So they are if some are damaged, if nobody reads a run to its end, and in the child of a fork.
 * There is no thread for a few pieces, with one processor, or with a codec that is not for all threads. */
#undef NDEBUG
#define _GNU_SOURCE
#include <assert.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/ring/record.h"
#include "support/seed.h"
#include "tracedata/read/fg/read_ahead.h"
#include "tracedata/read/fg/recorded.h"
#include "tracedata/spool/rows.h"
#include "tracedata/spool/spool.h"

/* A sanitizer's malloc may hang in the child of a process with threads. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FORKS 0u
#else
#define FORKS 100u
#endif

#define NR_RUNS 70u /* more than there are slots, and than takes until one is given away */
#define MOST_PIECES 60u
#define MOST_RECORDS 200u
#define FORKED_RUNS 3u

static uint64_t seed;
static int fd;
static struct fg_trace_task tasks[NR_RUNS];
static bool has_processors;

static uint64_t below(uint64_t limit)
{
    return fg_test_random(&seed) % limit;
}

/* ---- the file */

/* The n-th record of a piece. */
static struct fg_record record_of(uint32_t run, size_t piece, uint32_t n)
{
    return (struct fg_record){
        .time = 1000 * piece + n, .func = run, .info = FG_RECORD_INFO(FG_RECORD_ENTRY, 2, n)};
}

static void append_piece(struct fg_spool *spool, uint32_t run)
{
    struct fg_trace_task *task = &tasks[run];
    struct fg_piece *piece = &task->pieces[task->nr_pieces];
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_DATA, .task = run, .seq = task->nr_pieces};
    struct fg_row_packer rows = {0};
    struct fg_record records[MOST_RECORDS];

    piece->nr_records = chunk.nr_records = 1 + (uint32_t)below(MOST_RECORDS);
    for (uint32_t n = 0; n < piece->nr_records; n++)
        records[n] = record_of(run, task->nr_pieces, n);
    chunk.record_bytes = piece->nr_records * (uint32_t)sizeof(records[0]);
    assert(fg_rows_pack(&rows, records, chunk.record_bytes) == 0);
    assert(fg_spool_append(spool, &chunk, rows.rows, rows.bytes, &piece->offset) == 0);
    piece->stored_bytes = chunk.stored_bytes;
    task->nr_pieces++;
    fg_row_packer_free(&rows);
}

static void damage(struct fg_piece *piece)
{
    uint8_t last;
    uint64_t at = piece->offset + sizeof(struct fg_spool_chunk) + piece->stored_bytes - 1;

    assert(pread(fd, &last, 1, (off_t)at) == 1);
    last ^= 0x40;
    assert(pwrite(fd, &last, 1, (off_t)at) == 1);
    piece->damaged = true;
}

static void make_file(void)
{
    struct fg_spool spool;

    fd = memfd_create("pieces", MFD_CLOEXEC);
    assert(fd >= 0 && fg_spool_create_in(&spool, fd) == 0);
    for (uint32_t run = 0; run < NR_RUNS; run++)
        tasks[run].pieces = calloc(MOST_PIECES, sizeof(*tasks[run].pieces));
    for (uint32_t i = 0; i < NR_RUNS * MOST_PIECES; i++) {
        uint32_t run = (uint32_t)below(NR_RUNS);

        if (tasks[run].nr_pieces < MOST_PIECES)
            append_piece(&spool, run);
    }
    fg_spool_close(&spool);
    for (uint32_t i = 0; i < NR_RUNS; i++)
        damage(&tasks[i].pieces[below(tasks[i].nr_pieces)]);
}

/* ---- reading it */

struct desk {
    struct fg_recorded recorded;
    struct fg_row_pass pass;
    struct fg_piece_run runs[NR_RUNS];
};

static void begin(struct desk *desk)
{
    desk->recorded = (struct fg_recorded){.fd = fd, .unit = FG_UNIT_NS};
    assert(fg_row_pass_begin(&desk->pass, &desk->recorded) == 0);
    for (uint32_t run = 0; run < NR_RUNS; run++)
        desk->runs[run] = fg_piece_run(&tasks[run]);
}

static bool has_next(const struct desk *desk, uint32_t run)
{
    return desk->runs[run].next < desk->runs[run].end;
}

static void read_next(struct desk *desk, uint32_t run)
{
    const struct fg_piece *piece = desk->runs[run].next;
    const struct fg_record *records;
    size_t bytes = 0;
    int result = fg_row_pass_read(&desk->pass, &desk->runs[run], &bytes);

    assert(desk->runs[run].next == piece + 1);
    assert(result == !piece->damaged);
    if (!result)
        return;
    records = (const struct fg_record *)desk->pass.chunks.records;
    assert(bytes == piece->nr_records * sizeof(*records));
    for (uint32_t n = 0; n < piece->nr_records; n++) {
        struct fg_record expected = record_of(run, (size_t)(piece - tasks[run].pieces), n);

        assert(memcmp(&records[n], &expected, sizeof(expected)) == 0);
    }
}

static void read_rest(struct desk *desk, uint32_t run)
{
    while (has_next(desk, run))
        read_next(desk, run);
}

/* In random turn among the first @nr_runs, until each of them was read for so long that some have ended. */
static void read_some(struct desk *desk, uint32_t nr_runs, uint32_t times)
{
    for (uint32_t i = 0; i < times; i++) {
        uint32_t run = (uint32_t)below(nr_runs);

        if (has_next(desk, run))
            read_next(desk, run);
    }
}

static void end(struct desk *desk)
{
    assert(desk->pass.damaged_at != 0);
    fg_row_pass_end(&desk->pass);
}

/* ---- the promises */

static void test_one_after_the_other(struct desk *desk)
{
    begin(desk);
    for (uint32_t run = 0; run < NR_RUNS; run++)
        read_rest(desk, run);
    assert((desk->pass.ahead != NULL) == has_processors);
    end(desk);
}

static void test_in_any_turn(struct desk *desk)
{
    for (uint32_t nr_runs = 1; nr_runs <= NR_RUNS; nr_runs += 1 + (uint32_t)below(8)) {
        begin(desk);
        read_some(desk, nr_runs, nr_runs * MOST_PIECES / 2); /* some are left in the middle */
        for (uint32_t run = nr_runs / 2; run < nr_runs; run++)
            read_rest(desk, run);
        end(desk);
    }
}

/* The slots of runs that nobody reads any more serve those that are read. */
static void test_slots_are_given_away(void)
{
    struct fg_read_ahead *ahead;
    struct fg_chunk_reader reader = {.fd = fd};
    struct fg_spool_chunk chunk;
    uint32_t nr_slots = 0;
    int result;

    ahead = fg_read_ahead_new(fd);
    assert((ahead != NULL) == has_processors);
    while (ahead && fg_read_ahead_want(ahead, &tasks[nr_slots].pieces[0]))
        nr_slots++;
    for (uint32_t i = 0; ahead && i < 1000 && !fg_read_ahead_want(ahead, &tasks[0].pieces[1]); i++) {
        usleep(1000); /* until the thread has read those that wait */
        fg_read_ahead_take(ahead, &tasks[1].pieces[1], &reader, &chunk, &result);
        assert(i < 999);
    }
    fg_read_ahead_free(ahead);
    fg_chunk_reader_free(&reader);
}

static void test_few_pieces_need_no_thread(struct desk *desk)
{
    begin(desk);
    for (uint32_t run = 0; run < NR_RUNS; run++)
        for (uint32_t i = 0; i < 3 && has_next(desk, run); i++)
            read_next(desk, run);
    assert(desk->pass.ahead == NULL);
    fg_row_pass_end(&desk->pass);
}

static void read_on_in_a_child(struct desk *desk)
{
    int status;
    pid_t child = fork();

    assert(child >= 0);
    if (child == 0) {
        alarm(60); /* it would wait for the thread for ever */
        for (uint32_t run = 0; run < FORKED_RUNS; run++)
            read_rest(desk, run);
        end(desk);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
}

/* The thread has the lock at some of these moments, or reads a piece. */
static void test_the_child_of_a_fork_reads_on(struct desk *desk)
{
    for (uint32_t i = 0; i < FORKS; i++) {
        begin(desk);
        read_some(desk, FORKED_RUNS, 20 + i);
        read_on_in_a_child(desk);
        for (uint32_t run = 0; run < FORKED_RUNS; run++)
            read_rest(desk, run);
        end(desk);
    }
}

static void test_one_processor_has_no_thread(struct desk *desk)
{
    cpu_set_t before, one;
    int first = 0;

    assert(sched_getaffinity(0, sizeof(before), &before) == 0);
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert(sched_setaffinity(0, sizeof(one), &one) == 0);
    begin(desk);
    read_rest(desk, 0);
    assert(desk->pass.ahead == NULL);
    fg_row_pass_end(&desk->pass);
    assert(sched_setaffinity(0, sizeof(before), &before) == 0);
}

/* The last one: the codec stays. */
static void test_a_codec_that_is_not_for_all_threads_has_none(struct desk *desk)
{
    static struct fg_codec codec;

    codec = *fg_codec_by_id(FG_CODEC_NONE);
    codec.id = FG_CODEC_ZLIB;
    codec.is_for_all_threads = false;
    fg_codec_forget(FG_CODEC_ZLIB);
    assert(fg_codec_provide(&codec) == 0);
    begin(desk);
    read_rest(desk, 0);
    assert(desk->pass.ahead == NULL);
    fg_row_pass_end(&desk->pass);
}

int main(void)
{
    static struct desk desk;
    cpu_set_t processors;

    seed = fg_test_seed();
    has_processors = sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
    make_file();
    test_one_after_the_other(&desk);
    test_in_any_turn(&desk);
    test_slots_are_given_away();
    test_few_pieces_need_no_thread(&desk);
    test_the_child_of_a_fork_reads_on(&desk);
    test_one_processor_has_no_thread(&desk);
    test_a_codec_that_is_not_for_all_threads_has_none(&desk);
    for (uint32_t run = 0; run < NR_RUNS; run++)
        free(tasks[run].pieces);
    close(fd);
    return 0;
}
