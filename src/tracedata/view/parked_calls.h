/* The suspended calls of generators and coroutines: a table by what names a call across its suspends. */
#ifndef FG_PARKED_CALLS_H
#define FG_PARKED_CALLS_H

#include "engine/core/hash_table.h"

struct fg_parked_call {
    uint64_t start_ns; /* when the call first began */
    uint32_t func;
    int32_t pid;     /* a fork makes two calls of a suspended generator */
    uint64_t ran_ns; /* sum of the stretches that have ended */
    void *more;      /* what the table's owner keeps for the call: NULL at first */
    size_t place;    /* for the table's user: where it keeps more of the call */
};

/* It grows with the calls that are suspended at one time, not with all calls. */
struct fg_parked_calls {
    struct fg_parked_call *calls; /* in no order */
    size_t nr_calls, capacity;
    struct fg_hash_table by_key; /* place in `calls` plus 1 */
};

void fg_parked_calls_free(struct fg_parked_calls *parked);

/* The call, or NULL. Valid until the table changes. */
struct fg_parked_call *fg_parked_calls_find(const struct fg_parked_calls *parked, uint64_t start_ns,
                                            uint32_t func, int32_t pid);
/* Adds a call that is not in the table, with ran_ns 0. NULL: memory is short. */
struct fg_parked_call *fg_parked_calls_add(struct fg_parked_calls *parked, uint64_t start_ns, uint32_t func,
                                           int32_t pid);
void fg_parked_calls_remove(struct fg_parked_calls *parked, const struct fg_parked_call *call);

#endif
