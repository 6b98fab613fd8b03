/* A recorder's side for tests: a session directory, its ring files, and what was read from them. */
#ifndef FG_SESSION_H
#define FG_SESSION_H

#include <pthread.h>
#include <sys/types.h>

#include "engine/reader/ring_reader.h"
#include "engine/ring/session_page.h"
#include "engine/tracer/instance_start.h"

#define SESSION_MAX_TASKS 65536u
#define SESSION_MAX_FUNCS 8192u

/* What was read from a ring file. */
struct tally {
    uint64_t records; /* without WAIT, LOST and OVERRUN */
    uint64_t kinds[16];
    uint64_t lost;         /* as reported before sub-buffers */
    uint64_t records_lost; /* as reported by the header at the end */
    uint64_t overrun, waits, wait_ticks;
    uint64_t waits_in_sleep; /* waits whose records say that durations exclude them */
    uint32_t highest_index;  /* of the sub-buffers */
    uint32_t nr_tasks, nr_chunks, nr_processes, nr_functions, nr_seen, nr_events;
    bool finished;
    char killed[1024];
    uint64_t task_records[SESSION_MAX_TASKS];
    uint64_t task_time[SESSION_MAX_TASKS];
    bool knows_task[SESSION_MAX_TASKS], knows_func[SESSION_MAX_FUNCS];
    bool knows_caller[SESSION_MAX_FUNCS];
    char task_name[SESSION_MAX_TASKS][16];
    /* Optional: called for each record. `lost` counts the records lost just before this one. */
    void (*on_record)(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost);
    void *arg;
    /* Handlers of signals write records, too: perhaps while the thread has read the clock for its own. */
    bool has_signals;
};

struct session {
    char directory[64];
    pid_t recorder; /* the process that holds the recorder's lock, or 0 */
    int recorder_pipe;
    struct fg_ring_reader *reader;
    pthread_t drainer; /* the thread of session_drain_begin */
    unsigned drain_later_us, drain_each_us;
    _Atomic bool is_drained;
    struct tally tally;
};

struct session_trace {
    const struct fg_tracer *tracer; /* function_graph if NULL */
    size_t kb;                      /* FG_RING_MIN_KB if 0 */
    enum fg_ring_mode mode;
    bool follow_fork, no_sleep_time;
    uint32_t max_graph_depth;
};

void session_begin(struct session *session);
/* Removes the directory. */
void session_end(struct session *session);
/* Makes the session's page. */
void session_page_make(struct session *session);
/* Reads it. */
struct fg_session_page session_page(const struct session *session);
/* Moves the directory to another place or back. No process of the session reaches it there, as after a
 * chroot. */
void session_hide(const struct session *session, bool hidden);
/* Starts a process that takes the recorder's lock and lives until session_recorder_dies. */
void session_recorder_begins(struct session *session);
void session_recorder_dies(struct session *session);
/* Start an instance. session_trace returns its handle; session_try_trace returns the error. */
int session_trace(struct session *session, const struct session_trace *trace);
int session_try_trace(struct session *session, const struct session_trace *trace, int *handle);

/* Returns the path of process `pid`'s latest ring file. */
const char *session_ring(struct session *session, pid_t pid);
/* Maps a ring file by its path. Return: 0 or a negative errno. */
int session_open_ring(const char *path, struct fg_ring_reader **reader);
/* Opens this process's ring file for reading. */
void session_open(struct session *session);
/* Reads and releases the sub-buffers that are full now; returns their number. */
uint32_t session_drain(struct session *session);
/* Starts a thread that drains after `later_us` + `each_us`, then every `each_us`, until
 * session_drain_end. */
void session_drain_begin(struct session *session, unsigned later_us, unsigned each_us);
void session_drain_end(struct session *session);
/* Reads the rest and closes the file. */
void session_finish(struct session *session);
/* Opens, drains and finishes a complete file. session_read_of does so for another process's file. */
void session_read(struct session *session);
void session_read_of(struct session *session, pid_t pid);

#endif
