/* Reads ring files as a recorder does, and checks each record. */
#define _GNU_SOURCE
#include "support/session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/check.h"
#include "support/sim_arch.h"

void session_begin(struct session *session)
{
    memset(session, 0, sizeof(*session));
    strcpy(session->directory, "/dev/shm/fg-test-XXXXXX");
    CHECK(mkdtemp(session->directory) != NULL);
}

void session_end(struct session *session)
{
    DIR *directory = opendir(session->directory);
    struct dirent *entry;

    session_recorder_dies(session);
    CHECK(directory != NULL);
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    }
    closedir(directory);
    CHECK_EQ(rmdir(session->directory), 0);
}

static int page_open(const struct session *session, int flags)
{
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%s", session->directory, FG_SESSION_PAGE);
    fd = open(path, flags | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    return fd;
}

void session_page_make(struct session *session)
{
    struct fg_session_page page = {.recorder = (uint32_t)session->recorder};
    int fd = page_open(session, O_WRONLY | O_CREAT);

    CHECK_EQ(write(fd, &page, sizeof(page)), sizeof(page));
    close(fd);
}

struct fg_session_page session_page(const struct session *session)
{
    struct fg_session_page page;
    int fd = page_open(session, O_RDONLY);

    CHECK_EQ(read(fd, &page, sizeof(page)), sizeof(page));
    close(fd);
    return page;
}

void session_hide(const struct session *session, bool hidden)
{
    char elsewhere[sizeof(session->directory) + 8];

    snprintf(elsewhere, sizeof(elsewhere), "%s.hidden", session->directory);
    CHECK_EQ(hidden ? rename(session->directory, elsewhere) : rename(elsewhere, session->directory), 0);
}

static void hold_lock(const char *path, int ready, int wait)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char byte = fd < 0 || fcntl(fd, F_SETLK, &lock) != 0;

    if (write(ready, &byte, 1) != 1 || read(wait, &byte, 1) < 0)
        _exit(1);
    _exit(0);
}

void session_recorder_begins(struct session *session)
{
    int ready[2], wait[2];
    char path[128], byte = 1;

    snprintf(path, sizeof(path), "%s/lock", session->directory);
    CHECK_EQ(pipe2(ready, O_CLOEXEC) | pipe2(wait, O_CLOEXEC), 0);
    session->recorder = fork();
    CHECK(session->recorder >= 0);
    if (!session->recorder) {
        close(wait[1]);
        hold_lock(path, ready[1], wait[0]);
    }
    close(ready[1]);
    close(wait[0]);
    CHECK_EQ(read(ready[0], &byte, 1), 1);
    CHECK_EQ(byte, 0);
    close(ready[0]);
    session->recorder_pipe = wait[1];
}

void session_recorder_dies(struct session *session)
{
    if (!session->recorder)
        return;
    kill(session->recorder, SIGKILL);
    CHECK_EQ(waitpid(session->recorder, NULL, 0), session->recorder);
    close(session->recorder_pipe);
    session->recorder = 0;
}

int session_try_trace(struct session *session, const struct session_trace *trace, int *handle)
{
    struct fg_instance_config config = {
        .tracer = trace->tracer ? trace->tracer : &fg_tracer_function_graph,
        .ring = {.directory = session->directory,
                 .buffer_bytes = (trace->kb ? trace->kb : FG_RING_MIN_KB) * 1024u,
                 .mode = trace->mode},
        .settings = {.max_graph_depth = trace->max_graph_depth, .no_sleep_time = trace->no_sleep_time},
        .follow_fork = trace->follow_fork,
    };

    return fg_instance_start(&config, handle);
}

int session_trace(struct session *session, const struct session_trace *trace)
{
    int handle;

    CHECK_EQ(session_try_trace(session, trace, &handle), 0);
    return handle;
}

const char *session_ring(struct session *session, pid_t pid)
{
    static char path[128];
    int n = 0;

    do
        snprintf(path, sizeof(path), "%s/%d.%d%s", session->directory, (int)pid, n++, FG_RING_SUFFIX);
    while (access(path, F_OK) == 0);
    snprintf(path, sizeof(path), "%s/%d.%d%s", session->directory, (int)pid, n > 1 ? n - 2 : 0,
             FG_RING_SUFFIX);
    return path;
}

static void read_symbols(struct session *session)
{
    struct tally *tally = &session->tally;
    const struct fg_symbol *symbol;

    while ((symbol = fg_ring_reader_next_symbol(session->reader))) {
        const char *text = (const char *)(symbol + 1);

        switch (symbol->type) {
        case FG_SYMBOL_FUNC:
            CHECK(symbol->id < SESSION_MAX_FUNCS);
            CHECK_EQ(symbol->nr_strings, 4);
            tally->knows_func[symbol->id] = true;
            tally->nr_functions++;
            break;
        case FG_SYMBOL_CALLER:
            CHECK(symbol->id < SESSION_MAX_FUNCS);
            tally->knows_caller[symbol->id] = true;
            tally->nr_seen++;
            break;
        case FG_SYMBOL_SEEN:
            tally->nr_seen++;
            break;
        case FG_SYMBOL_TASK:
            CHECK(symbol->id < SESSION_MAX_TASKS);
            tally->knows_task[symbol->id] = true;
            snprintf(tally->task_name[symbol->id], sizeof(tally->task_name[0]), "%s", text);
            break;
        case FG_SYMBOL_RUN_TIME:
            CHECK_EQ(symbol->nr_strings, 2);
            CHECK(tally->knows_task[symbol->id]);
            break;
        case FG_SYMBOL_EVENT:
            CHECK_EQ(symbol->nr_strings, 3);
            tally->nr_events++;
            break;
        default:
            CHECK_EQ(symbol->type, FG_SYMBOL_PROCESS);
            CHECK_EQ(symbol->id, fg_ring_reader_facts(session->reader)->pid);
            tally->nr_processes++;
        }
    }
}

static void read_record(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    enum fg_record_kind kind = fg_record_kind(record->info);
    uint64_t payload = fg_record_words(record->info) > 2 ? *(const uint64_t *)(record + 1) : 0;

    CHECK(kind <= FG_RECORD_EVENT);
    tally->kinds[kind]++;
    if (kind == FG_RECORD_WAIT) {
        CHECK(payload <= record->time);
        tally->waits_in_sleep += fg_record_depth(record->info);
        return;
    }
    if (kind == FG_RECORD_OVERRUN || kind == FG_RECORD_MARK)
        return;
    if (kind >= FG_RECORD_RETURN && kind <= FG_RECORD_CLOSE)
        CHECK(payload <= record->time);
    CHECK(record->time >= tally->task_time[task] || tally->has_signals);
    tally->task_time[task] = record->time;
    CHECK(record->func < SESSION_MAX_FUNCS);
    CHECK(tally->knows_func[record->func] ||
          ((kind == FG_RECORD_EVENT || kind == FG_RECORD_STACK) && tally->knows_caller[record->func]));
    tally->records++;
    tally->task_records[task]++;
    if (tally->on_record)
        tally->on_record(tally, task, record, lost);
}

static void read_chunk(struct session *session, const struct fg_ring_chunk *chunk)
{
    struct tally *tally = &session->tally;
    const uint8_t *at = chunk->data, *end = at + chunk->bytes;
    uint64_t lost = chunk->lost;

    read_symbols(session); /* committed before the records that use them */
    CHECK(chunk->task < SESSION_MAX_TASKS && tally->knows_task[chunk->task]);
    tally->nr_chunks++;
    if (chunk->index > tally->highest_index)
        tally->highest_index = chunk->index;
    tally->lost += chunk->lost;
    while (at < end) {
        const struct fg_record *record = (const struct fg_record *)at;
        uint32_t words = fg_record_words(record->info);
        enum fg_record_kind kind = fg_record_kind(record->info);

        CHECK(words >= 2 && at + 8 * words <= end);
        read_record(tally, chunk->task, record, lost);
        if (kind != FG_RECORD_WAIT && kind != FG_RECORD_OVERRUN)
            lost = 0;
        at += 8 * words;
    }
}

int session_open_ring(const char *path, struct fg_ring_reader **reader)
{
    int fd = open(path, O_RDWR | O_CLOEXEC), error;

    if (fd < 0)
        return -errno;
    error = fg_ring_reader_open(fd, FG_RING_ANY_BYTES, false, reader);
    close(fd);
    return error;
}

void session_open(struct session *session)
{
    CHECK_EQ(session_open_ring(session_ring(session, getpid()), &session->reader), 0);
}

uint32_t session_drain(struct session *session)
{
    struct fg_ring_chunk chunk;
    uint32_t n = 0;

    for (; fg_ring_reader_next(session->reader, &chunk) > 0; n++) {
        read_chunk(session, &chunk);
        fg_ring_reader_release(session->reader, &chunk);
    }
    return n;
}

static void *drain(void *arg)
{
    struct session *session = arg;

    usleep(session->drain_later_us);
    while (!atomic_load(&session->is_drained)) {
        usleep(session->drain_each_us);
        session_drain(session);
    }
    return NULL;
}

void session_drain_begin(struct session *session, unsigned later_us, unsigned each_us)
{
    session->drain_later_us = later_us;
    session->drain_each_us = each_us;
    atomic_store(&session->is_drained, false);
    sim_spawn(&session->drainer, drain, session);
}

void session_drain_end(struct session *session)
{
    atomic_store(&session->is_drained, true);
    sim_join(session->drainer);
}

void session_finish(struct session *session)
{
    struct tally *tally = &session->tally;
    struct fg_ring_counts counts;
    struct fg_ring_chunk chunk;

    session_drain(session);
    while (fg_ring_reader_next_leftover(session->reader, &chunk) > 0)
        read_chunk(session, &chunk);
    read_symbols(session);
    fg_ring_reader_counts(session->reader, &counts);
    tally->records_lost = counts.records_lost;
    tally->overrun = counts.overrun;
    tally->waits = counts.wait_count;
    tally->wait_ticks = counts.wait_ticks;
    tally->nr_tasks = counts.nr_tasks;
    tally->finished = counts.finished;
    memcpy(tally->killed, counts.killed, sizeof(tally->killed));
    fg_ring_reader_close(session->reader);
    session->reader = NULL;
}

void session_read_of(struct session *session, pid_t pid)
{
    CHECK_EQ(session_open_ring(session_ring(session, pid), &session->reader), 0);
    session_finish(session);
}

void session_read(struct session *session)
{
    session_read_of(session, getpid());
}
