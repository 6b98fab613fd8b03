/* A recorder's side for tests: a session directory, the ring files in it, and what was read from them. */
#ifndef FG_SESSION_H
#define FG_SESSION_H

#include <pthread.h>
#include <sys/types.h>

#include "engine/ring/ring_reader.h"
#include "engine/tracer/instance_start.h"

#define SESSION_MAX_TASKS 65536u
#define SESSION_MAX_FUNCS 8192u

/* What a ring file was read to hold. Records of the kinds in `sequence` must come in the order in which
 * tally_check_sequence expects them. */
struct tally {
    uint64_t records; /* without WAIT, LOST and OVERRUN */
    uint64_t kinds[16];
    uint64_t lost;         /* as shown before sub-buffers */
    uint64_t records_lost; /* as the header says at the end */
    uint64_t overrun, waits, wait_ticks;
    uint64_t waits_in_sleep; /* those whose records say that durations are without them */
    uint32_t highest_index;  /* of a sub-buffer */
    uint32_t nr_tasks, nr_chunks, nr_processes, nr_functions, nr_seen;
    bool finished;
    char killed[1024];
    uint64_t task_records[SESSION_MAX_TASKS];
    uint64_t task_time[SESSION_MAX_TASKS];
    bool knows_task[SESSION_MAX_TASKS], knows_func[SESSION_MAX_FUNCS];
    char task_name[SESSION_MAX_TASKS][16];
    /* Optional: called for each record, and before it with what was lost just before (0: nothing). */
    void (*on_record)(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost);
    void *arg;
};

struct session {
    char directory[64];
    pid_t recorder; /* the process that holds the lock, or 0 */
    int recorder_pipe;
    struct fg_ring_reader *reader;
    pthread_t drainer; /* session_drain_begin */
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
/* Another process says that it is the recorder, and lives. */
void session_recorder_begins(struct session *session);
void session_recorder_dies(struct session *session);
/* An instance; session_trace returns its handle, session_try_trace the error. */
int session_trace(struct session *session, const struct session_trace *trace);
int session_try_trace(struct session *session, const struct session_trace *trace, int *handle);

/* The path of the ring file of process `pid`; its last one. */
const char *session_ring(struct session *session, pid_t pid);
/* Opens the ring file of this process for reading. */
void session_open(struct session *session);
/* Reads what is full now and gives it back; returns how many sub-buffers that were. */
uint32_t session_drain(struct session *session);
/* A thread drains, for the first time after `later_us` and `each_us`, then each `each_us`, until
 * session_drain_end. */
void session_drain_begin(struct session *session, unsigned later_us, unsigned each_us);
void session_drain_end(struct session *session);
/* Reads all that is left, and closes. */
void session_finish(struct session *session);
/* Open, drain, finish: of a file that is complete. session_read_of: of another process. */
void session_read(struct session *session);
void session_read_of(struct session *session, pid_t pid);

#endif
