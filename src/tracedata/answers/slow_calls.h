/* Calls of a function by how long they took, for call_choice.h. A call that is made from another one that is
 * read is a part of that one, and is not ranked. */
#ifndef FG_SLOW_CALLS_H
#define FG_SLOW_CALLS_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/read/merge.h"

/* How long a call took, from begin to end, also while it was suspended. */
struct fg_ranked_call {
    uint64_t begin_ns, took_ns;
};

struct fg_longest_call {
    uint64_t number; /* in the order of beginnings of all calls that are read, from 1 */
    uint64_t begin_ns, end_ns;
    uint32_t task; /* the number of that in which it ended */
    uint32_t resumes;
};

/* The calls of one key. */
struct fg_ranked_calls {
    uint32_t key;
    uint64_t total_ns;            /* of all its calls, also those within others, without suspended time */
    uint64_t nr_unfinished;       /* calls of which the trace has not both the begin and the end */
    struct fg_ranked_call *calls; /* those of which it has, in the order of their ends */
    size_t n, capacity;
    struct fg_longest_call longest; /* the first one of these that took longest */
};

struct fg_slow_calls;

/* Begins with the calls in @merge of functions with a key. @keys: by function; 0: none. Both stay the
 * caller's. Return: 0 or -ENOMEM. */
int fg_slow_calls_new(struct fg_merge *merge, const uint32_t *keys, struct fg_slow_calls **slow);
void fg_slow_calls_free(struct fg_slow_calls *slow);
/* As fg_answer_run(). */
int fg_slow_calls_run(struct fg_slow_calls *slow, uint64_t events);

/* The calls of the key with the most time, the first one met of several. NULL: no call was read. */
const struct fg_ranked_calls *fg_slow_calls_most_used(const struct fg_slow_calls *slow);

#endif
