/* The figures of a recording, of one ring or of all. */
#ifndef FG_RECORDER_COUNTS_H
#define FG_RECORDER_COUNTS_H

#include "tracedata/recorder/recorder.h"

/* X(name, what it counts) */
#define FG_RECORDER_COUNTS(X)                                                                                \
    X(records, "records drained so far")                                                                     \
    X(bytes, "their bytes")                                                                                  \
    X(lost, "records dropped or overwritten")                                                                \
    X(damaged, "places that are not as they were written: what was there is left out")                       \
    X(overrun, "calls not traced because a shadow stack was full")                                           \
    X(waits, "how often a writer waited for the recorder")                                                   \
    X(wait_ns, "how long they waited, in nanoseconds")                                                       \
    X(processes, "of a ring: 1; of a session: traced processes")                                             \
    X(tasks, "tasks that wrote")                                                                             \
    X(cut, "rings whose symbols found no room, or were not sound: names are missing")                        \
    X(functions, "of a ring: functions that may be recorded; of a session: recorded ones")

struct fg_recorder_counts {
#define X(name, text) uint64_t name;
    FG_RECORDER_COUNTS(X)
#undef X
};

/* One ring. */
struct fg_recorder_info {
    struct fg_recorder_counts counts;
    uint32_t pid;
    const char *instance;                     /* empty for the top one */
    bool finished;                            /* the writer closed the ring itself */
    uint64_t seen;                            /* functions that ran, recorded or not */
    char killed[FG_SPOOL_MAX_TEXT_BYTES + 1]; /* the kill switch's message, ended by a NUL; or empty */
};

/* Of a mapped or finished ring. Return: 0; -ESRCH: no ring has this number. */
int fg_recorder_info(const struct fg_recorder *recorder, uint32_t ring, struct fg_recorder_info *info);

/* Of all rings together. Return: 0 or -ENOMEM. */
int fg_recorder_totals(const struct fg_recorder *recorder, struct fg_recorder_counts *totals);

#endif
