/* Crash: the file of a killed process contains what the process recorded. A file that is not a ring
 * buffer, is cut short, or is damaged is refused. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 251 };

static struct fg_func *funcs[NR_FUNCS];
static uint32_t place_of_id[SESSION_MAX_FUNCS];
static struct session session;

/* Shared with the child: how many calls each of its threads has begun. */
static _Atomic uint64_t *progress;

static void *call_for_ever(void *arg)
{
    uintptr_t thread = (uintptr_t)arg;

    for (uint64_t i = 0;; i++) {
        atomic_store(&progress[thread], i);
        sim_call_return(funcs[i % NR_FUNCS]);
    }
    return NULL;
}

struct watch {
    uint64_t next[SESSION_MAX_TASKS];
};

static void check_next(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    struct watch *watch = tally->arg;
    uint64_t number = watch->next[task]++;

    CHECK_EQ(lost, 0);
    CHECK_EQ(place_of_id[record->func], number / 2 % NR_FUNCS);
    CHECK_EQ(fg_record_kind(record->info), number % 2 ? FG_RECORD_RETURN : FG_RECORD_ENTRY);
}

static void run_to_be_killed(void)
{
    pthread_t threads[2];

    session_trace(&session, &(struct session_trace){.kb = 64 * 1024, .mode = FG_RING_DROP});
    for (uintptr_t i = 0; i < 2; i++)
        sim_spawn(&threads[i], call_for_ever, (void *)i);
    sim_join(threads[0]);
}

/* Fails if find_leftovers leaves out the OWNED sub-buffers, or if a commit happens only when a
 * sub-buffer is full. */
static void test_what_a_killed_process_recorded_is_readable(void)
{
    for (unsigned round = 0; round < 10; round++) {
        static struct watch watch;
        uint64_t records[2] = {0, 0};
        uint32_t n = 0;
        pid_t child;

        session_begin(&session);
        memset(&watch, 0, sizeof(watch));
        progress[0] = progress[1] = 0;
        child = fork();
        CHECK(child >= 0);
        if (!child)
            run_to_be_killed();
        while (!progress[0] || !progress[1])
            usleep(100);
        usleep(round * 1777);
        CHECK_EQ(kill(child, SIGKILL), 0);
        CHECK_EQ(waitpid(child, NULL, 0), child);
        session.tally.on_record = check_next;
        session.tally.arg = &watch;
        session_read_of(&session, child);
        CHECK_EQ(session.tally.finished, false);
        if (session.tally.records_lost == 0) {
            for (uint32_t i = 0; i < SESSION_MAX_TASKS; i++) {
                if (session.tally.task_records[i] && n < 2)
                    records[n++] = session.tally.task_records[i];
            }
            /* Of the call in progress the file may contain nothing, the entry, or both entry and
             * return. */
            CHECK((records[0] / 2 - progress[0] <= 1 && records[1] / 2 - progress[1] <= 1) ||
                  (records[1] / 2 - progress[0] <= 1 && records[0] / 2 - progress[1] <= 1));
        }
        session_end(&session);
    }
}

static void open_changed(const char *path, off_t offset, uint64_t value, size_t bytes, int expected)
{
    struct fg_ring_reader *reader;
    uint64_t before;
    int fd = open(path, O_RDWR);

    CHECK_EQ(pread(fd, &before, bytes, offset), bytes);
    CHECK_EQ(pwrite(fd, &value, bytes, offset), bytes);
    CHECK_EQ(session_open_ring(path, &reader), expected);
    CHECK_EQ(pwrite(fd, &before, bytes, offset), bytes);
    close(fd);
    if (!expected)
        fg_ring_reader_close(reader);
}

#define FIELD(name) offsetof(struct fg_ring_header, name), sizeof(((struct fg_ring_header *)0)->name)

/* Fails without any one line of header_is_sound. */
static void test_damaged_files_are_refused(void)
{
    static const struct {
        size_t offset, bytes;
        uint64_t value;
    } damages[] = {
        {FIELD(header_bytes), 64},
        {FIELD(nr_subbufs), 0},
        {FIELD(nr_subbufs), UINT32_MAX},
        {FIELD(subbuf_bytes), 0},
        {FIELD(subbuf_bytes), 4095},
        {FIELD(subbuf_bytes), 1u << 31},
        {FIELD(queue_offset), 0},
        {FIELD(queue_offset), 4100},
        {FIELD(queue_offset), UINT64_MAX - 7},
        {FIELD(symbols_offset), 1},
        {FIELD(symbols_offset), 1u << 30},
        {FIELD(symbols_capacity), UINT64_MAX},
        {FIELD(data_offset), UINT64_MAX - 7},
        {FIELD(data_offset), 12},
    };
    struct fg_ring_reader *reader;
    int handle, fd;
    const char *path;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){0});
    sim_call_return(funcs[0]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    path = session_ring(&session, getpid());
    open_changed(path, 0, 0x464c457f, 4, -EINVAL);
    for (size_t i = 0; i < NR_OF(damages); i++)
        open_changed(path, (off_t)damages[i].offset, damages[i].value, damages[i].bytes, -EINVAL);
    CHECK_EQ(session_open_ring(path, &reader), 0);
    fg_ring_reader_close(reader);
    fd = open(path, O_RDWR);
    CHECK_EQ(ftruncate(fd, 1 << 20), 0);
    CHECK_EQ(session_open_ring(path, &reader), -EINVAL);
    CHECK_EQ(ftruncate(fd, 100), 0);
    CHECK_EQ(session_open_ring(path, &reader), -EINVAL);
    CHECK_EQ(ftruncate(fd, 0), 0);
    CHECK_EQ(session_open_ring(path, &reader), -EINVAL);
    close(fd);
    fd = open(session.directory, O_RDONLY | O_DIRECTORY);
    CHECK_EQ(fg_ring_reader_open(fd, FG_RING_ANY_BYTES, false, &reader), -EINVAL);
    close(fd);
    CHECK_EQ(fg_ring_reader_open(fd, FG_RING_ANY_BYTES, false, &reader), -EBADF);
    session_end(&session);
}

/* Fails if `commit` and the queue's indexes are used unchecked: reads beyond the mapping. */
static void test_a_mad_writer_does_no_harm_to_the_reader(void)
{
    struct fg_ring_header *header;
    struct fg_ring_chunk chunk;
    struct fg_ring_reader *reader;
    const struct fg_symbol *symbol;
    struct fg_subbuf *subbuf;
    int handle, fd;
    size_t bytes;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP});
    for (uint32_t i = 0; i < 10000; i++)
        sim_call_return(funcs[0]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    fd = open(session_ring(&session, getpid()), O_RDWR);
    bytes = (size_t)lseek(fd, 0, SEEK_END);
    header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    CHECK_EQ(session_open_ring(session_ring(&session, getpid()), &reader), 0);
    subbuf = (struct fg_subbuf *)((uint8_t *)header + header->data_offset);
    atomic_store(&subbuf->commit, UINT64_MAX);
    ((uint32_t *)((uint8_t *)header + header->queue_offset))[0] = 1u << 30;
    atomic_store(&header->symbols_committed, UINT64_MAX);
    CHECK_EQ(fg_ring_reader_next(reader, &chunk), 1);
    CHECK(chunk.bytes < header->subbuf_bytes);
    while (fg_ring_reader_next_leftover(reader, &chunk) > 0) {
        uint64_t sum = 0;

        for (size_t i = 0; i < chunk.bytes; i++)
            sum += ((const uint8_t *)chunk.data)[i];
        CHECK(sum > 0);
    }
    for (uint32_t i = 0; (symbol = fg_ring_reader_next_symbol(reader)); i++)
        CHECK(i < NR_FUNCS + 100 && symbol->bytes <= FG_RING_SYMBOL_BYTES);
    fg_ring_reader_close(reader);
    munmap(header, bytes);
    session_end(&session);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    for (uint32_t i = 0; i < NR_FUNCS; i++)
        place_of_id[funcs[i]->id] = i;
    progress = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_what_a_killed_process_recorded_is_readable();
    test_damaged_files_are_refused();
    test_a_mad_writer_does_no_harm_to_the_reader();
    return 0;
}
