/* The figures of a recording, of one ring or of all. */
#ifndef FG_RECORDER_COUNTS_H
#define FG_RECORDER_COUNTS_H

#include "tracedata/spool/recorder.h"

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

/* Also for rings that are finished; -ESRCH for a number that does not exist. */
int fg_recorder_info(const struct fg_recorder *recorder, uint32_t ring, struct fg_recorder_info *info);

/* Over all rings. 0 or -ENOMEM. */
int fg_recorder_totals(const struct fg_recorder *recorder, struct fg_recorder_counts *totals);

#endif
