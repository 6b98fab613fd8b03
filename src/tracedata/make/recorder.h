/* The recorder: maps the ring-buffer files of a session's processes, empties them into the spool while the
 * programs run, and knows at any time what it has. One thread at a time. */
#ifndef FG_RECORDER_H
#define FG_RECORDER_H

#include "engine/ring/ring_reader.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/spool.h"
#include <stdbool.h>
#include <stdint.h>

/* A ring that this recorder has mapped, or had. Its number is that of contents.rings. */
struct fg_recorder_ring {
    struct fg_ring_reader *reader; /* NULL: finished, or only known from a resumed spool */
    uint32_t nr_subbufs;           /* a copy: the header is the traced process's, which may go mad */
    struct fg_ring_chunk chunk;    /* claimed and not yet in the spool ... */
    bool has_chunk;                /* ... if this says so: an append failed */
    bool at_leftovers;             /* the queue is done with; what is left is found by its state */
    struct fg_text symbols;        /* read from the ring and not yet in the spool */
    uint64_t symbols_to_skip;      /* these are in the resumed spool already */
    uint64_t *spooled;             /* sorted: sub-buffers that are in the resumed spool already */
    size_t nr_spooled;
    uint64_t state_ns; /* when the ring's state was last written */
};

struct fg_recorder {
    struct fg_spool spool;
    struct fg_contents contents;
    struct fg_recorder_ring *rings;
    size_t nr_rings;
    bool resumed;
    enum fg_trace_clock clock; /* of a trace that begins; a resumed spool knows its own */
};

/* Numbers of a ring, or of a whole session. */
#define FG_RECORDER_COUNTS(X)                                                                                \
    X(records, "records taken so far")                                                                       \
    X(bytes, "their bytes")                                                                                  \
    X(lost, "records dropped, overwritten or damaged")                                                       \
    X(overrun, "calls not traced because a shadow stack was full")                                           \
    X(waits, "times that a writer waited for the recorder")                                                  \
    X(wait_ns, "how long they waited, in nanoseconds")                                                       \
    X(processes, "a ring: one; a session: processes that were traced")                                       \
    X(tasks, "tasks that wrote")                                                                             \
    X(functions, "a ring: functions that may be recorded; a session: functions that were")

struct fg_recorder_counts {
#define X(name, text) uint64_t name;
    FG_RECORDER_COUNTS(X)
#undef X
};

/* What is known of one ring now. */
struct fg_recorder_info {
    struct fg_recorder_counts counts;
    uint32_t pid;
    const char *instance; /* empty: the top one */
    bool finished;        /* the writer closed it in good order */
    uint64_t seen;        /* functions that ran, whether they may be recorded or not */
    const char *killed;   /* the kill switch's message */
    size_t killed_bytes;
};

/* Makes a new spool at `path` for a trace on this clock, or, to resume, takes in the one that a recorder left
 * there, with its clock. Errors as fg_spool_create and fg_spool_open. */
int fg_recorder_open(struct fg_recorder *recorder, const char *path, enum fg_trace_clock clock, bool resume);
void fg_recorder_close(struct fg_recorder *recorder);

/* Maps a ring file; returns its number or a negative errno (-EINVAL: no ring file, or damaged). A file that
 * the resumed spool knows gets its number again, and what is in the spool is not taken twice. */
int fg_recorder_add_ring(struct fg_recorder *recorder, const char *path);

/* All that follow: -ESRCH for a ring that is not mapped. An error of the spool (-ENOSPC, ...) loses nothing:
 * the call may be repeated. */

/* Takes what is there now: all sub-buffers that were full at the call, and new symbols. Returns the records
 * taken. */
int64_t fg_recorder_drain(struct fg_recorder *recorder, uint32_t ring);

/* The writer is gone or has finished: takes the rest and lets go of the file. */
int fg_recorder_finish(struct fg_recorder *recorder, uint32_t ring);

int fg_recorder_stop_writer(struct fg_recorder *recorder, uint32_t ring);

/* Also for rings that are finished; -ESRCH for a number that does not exist. */
int fg_recorder_info(const struct fg_recorder *recorder, uint32_t ring, struct fg_recorder_info *info);

/* Over all rings. 0 or -ENOMEM. */
int fg_recorder_totals(const struct fg_recorder *recorder, struct fg_recorder_counts *totals);

/* The trace; see fg_assemble. Rings that are still mapped come in with what was taken of them, and with the
 * counts they have now. */
int fg_recorder_assemble(struct fg_recorder *recorder, const char *path, const char *extra);

#endif
