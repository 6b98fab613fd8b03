/* The parts of chosen calls: what each of their nanoseconds was spent on, from begin to end.
 *
 * A call in progress is in one thread, and the innermost call there says what it does; while it is suspended,
 * what it awaits. What other sources know of the thread's time is laid over it: waits for the interpreter
 * lock, collections, waits for the recorder.
 *
 *     the chosen call   |own      |callee g            |own |suspended: sleep    |ready|own |
 *     events            entry     entry g     return g      suspend              resume    return
 *     laid over it            |gc|     |GIL|
 *
 * So each nanosecond is in one part. What events cannot tell, as where records were lost, is in the part
 * `unknown`. */
#ifndef FG_CALL_PARTS_H
#define FG_CALL_PARTS_H

#include "tracedata/read/merge.h"

/* X(name, meaning of its key) */
#define FG_CALL_PART_KINDS(X)                                                                                \
    X(own, "none: the call itself was the innermost one")                                                    \
    X(callee, "the function that the call called, below which the innermost call was")                       \
    X(native, "the native function that was the innermost call")                                             \
    X(lock, "the function that waits for a lock")                                                            \
    X(sleep, "the function that sleeps")                                                                     \
    X(io, "the function that reads or writes")                                                               \
    X(gil, "a label of its overlay: who had the interpreter lock")                                           \
    X(suspended, "the function that it awaits; that after the last one: it is not recorded")                 \
    X(ready, "none: it could have gone on")                                                                  \
    X(gc, "none: the collector ran")                                                                         \
    X(import, "none: a module was imported")                                                                 \
    X(tracer, "none: the thread waited for the recorder")                                                    \
    X(unknown, "none")

enum fg_call_part {
#define X(name, text) FG_PART_##name,
    FG_CALL_PART_KINDS(X)
#undef X
        FG_NR_CALL_PARTS,
};

/* What a function is, by function: a kind of part (callee: nothing special), and this bit. */
#define FG_PART_IS_CHOSEN 0x80u

struct fg_chosen_call {
    uint64_t begin_ns;
    uint32_t group; /* whose parts it adds to */
};

/* A stretch of a task's time about which another source tells. */
struct fg_overlay {
    uint64_t begin_ns, end_ns;
    uint32_t task;  /* its number in the name table */
    uint32_t label; /* of gil: below nr_labels; of ready: 1: it counts with the one after it */
};

struct fg_part {
    uint64_t ns, count;
};

/* The sums of a group. */
struct fg_part_group {
    struct fg_part *parts; /* [kind * nr_keys + key] */
    uint64_t calls;        /* those that were found */
    uint64_t open;         /* of these those that did not end */
    uint64_t total_ns;     /* from their begins to their ends: the sum of all parts */
};

struct fg_call_parts_input {
    const uint8_t *classes;       /* by function */
    struct fg_chosen_call *calls; /* by begin */
    size_t nr_calls;
    const struct fg_overlay *gil; /* by task and begin, disjoint */
    size_t nr_gil;
    const struct fg_overlay *ready; /* by task, in the order in which they end: how long what runs then was
                                     * ready before. One with the label 1 is of the cause of the next one. */
    size_t nr_ready;
    uint32_t nr_groups, nr_labels;
    uint32_t gc_start, gc_done; /* types of events; 0: none */
};

struct fg_call_parts;

/* Begins to read the calls of @merge; both arguments stay the caller's and live as long. Return: 0 or
 * -ENOMEM. */
int fg_call_parts_new(struct fg_merge *merge, const struct fg_call_parts_input *input,
                      struct fg_call_parts **parts);
void fg_call_parts_free(struct fg_call_parts *parts);

/* Reads up to @events more events. Return: 1; 0: that was all; or an error of fg_merge_next(). */
int fg_call_parts_run(struct fg_call_parts *parts, uint64_t events);

/* The sums, by group, and how many keys each kind has. */
const struct fg_part_group *fg_call_parts_groups(const struct fg_call_parts *parts, size_t *nr_keys);

#endif
