/* Calls of two readings in lockstep: up to where they first differ, and what each calls from there on.
 *
 *     one            other
 *     main()         main()         call by call: function, depth, values
 *       load(1)        load(1)
 *         -> 'a'         -> 'b'     the first value that differs: an argument or a result
 *       show()         show()
 *       save()         stop()       where they part
 *
 * The calls of both are paired by their beginnings. Beginnings and ends are paired, too, for their values, as
 * long as each has a partner of the same call: where ends were lost, values are no longer compared. */
#ifndef FG_LOCKSTEP_H
#define FG_LOCKSTEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/answers/lasting_values.h"
#include "tracedata/read/merge.h"

#define FG_LOCKSTEP_BEFORE 3u /* calls that are kept before a place */
#define FG_LOCKSTEP_AFTER 5u  /* calls of each that are kept from the place on where they part */
#define FG_NO_ROOT UINT32_MAX

/* One reading: the events of one thread. */
struct fg_lockstep_side {
    struct fg_merge *merge;
    const uint32_t
        *names; /* by function, and last of all that the trace does not name: their names' numbers */
    /* The name of the call that is read, which began at @root_ns: no other call around or beside it. Depths
     * are counted from it. FG_NO_ROOT: all calls are read. */
    uint32_t root;
    uint64_t root_ns;
};

/* X(number, its name in Python): what differs at a place. */
#define FG_LOCKSTEP_DIFFERENCES(X)                                                                           \
    X(CALL, "call")                                                                                          \
    X(ARGUMENTS, "arguments")                                                                                \
    X(RESULT, "result")

enum fg_lockstep_difference {
#define X(name, text) FG_LOCKSTEP_##name,
    FG_LOCKSTEP_DIFFERENCES(X)
#undef X
};

struct fg_lockstep_call {
    uint32_t depth, name;
};

/* What a reading has at a place: the beginning of a call, or the end of a stretch of it. */
struct fg_lockstep_moment {
    uint8_t kind;  /* enum fg_column_kind */
    uint32_t func; /* the trace's own number */
    struct fg_lockstep_call call;
    uint64_t time_ns;
    struct fg_lasting_values values;
};

struct fg_lockstep_place {
    bool is_found;
    enum fg_lockstep_difference what;
    uint64_t calls;    /* that both made before; of a result with the one that ended */
    uint64_t nr_roots; /* calls of depth 0 that both have begun by then, at a call without the next one */
    uint64_t root_ns[2];
    uint32_t *path; /* names of the calls that may be in progress, from the outermost one on */
    uint32_t path_levels;
    struct fg_lockstep_call before[FG_LOCKSTEP_BEFORE]; /* the last calls, the latest one last */
    uint32_t nr_before;
    bool is_there[2]; /* false: it has no further call */
    struct fg_lockstep_moment moments[2];
};

struct fg_lockstep;

/**
 * fg_lockstep_new() - begin with two readings
 * @sides: their merges and names stay the caller's; they may be of one file
 * @nr_names: above all numbers of names
 * @ahead: how many events of each are read, at most, after the place where they part. If the trace cannot be
 *         read there, it is as if it ended. UINT64_MAX: all, which can fail
 *
 * Return: 0 or -ENOMEM.
 */
int fg_lockstep_new(const struct fg_lockstep_side sides[2], uint32_t nr_names, uint64_t ahead,
                    struct fg_lockstep **lockstep);
void fg_lockstep_free(struct fg_lockstep *lockstep);

/* Takes up to @events more events of each. Return: 1; 0: that was all; or an error of fg_merge_next(), of the
 * side that fg_lockstep_failed() tells. */
int fg_lockstep_run(struct fg_lockstep *lockstep, uint64_t events);
int fg_lockstep_failed(const struct fg_lockstep *lockstep);

/* Whether a side has calls of two threads, which ends the reading: their tasks' numbers. */
bool fg_lockstep_threads(const struct fg_lockstep *lockstep, int side, uint32_t tasks[2]);

/* The first value that differs; not found: none does as far as both make the same calls. */
const struct fg_lockstep_place *fg_lockstep_value(const struct fg_lockstep *lockstep);
/* Where they part; not found: both make the same calls. */
const struct fg_lockstep_place *fg_lockstep_parting(const struct fg_lockstep *lockstep);

/* What a side calls from the place on where they part. Return: how many calls. */
uint32_t fg_lockstep_after(const struct fg_lockstep *lockstep, int side,
                           struct fg_lockstep_call calls[FG_LOCKSTEP_AFTER]);
/* How often a side calls functions of a name. */
uint64_t fg_lockstep_count(const struct fg_lockstep *lockstep, int side, uint32_t name);

#endif
