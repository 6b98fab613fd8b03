/* Calls that are suspended now: generators and coroutines, by what names a call across its suspends. */
#ifndef FG_PARKED_CALLS_H
#define FG_PARKED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_parked_call {
    uint64_t start_ns; /* when the call first began */
    uint32_t func;
    int32_t pid;     /* a generator that a fork copies goes on as two calls */
    uint64_t ran_ns; /* in the parts that are over */
    bool used;
};

struct fg_parked_calls {
    struct fg_parked_call *slots; /* open addressing, linear probing */
    size_t capacity;              /* a power of two, or 0 */
    size_t count;
};

void fg_parked_calls_free(struct fg_parked_calls *calls);

/* NULL if there is none. Valid until the table changes. */
struct fg_parked_call *fg_parked_calls_find(const struct fg_parked_calls *calls, uint64_t start_ns,
                                            uint32_t func, int32_t pid);
/* The call, added with ran_ns 0 if there is none; NULL if there is no memory. */
struct fg_parked_call *fg_parked_calls_add(struct fg_parked_calls *calls, uint64_t start_ns, uint32_t func,
                                           int32_t pid);
void fg_parked_calls_remove(struct fg_parked_calls *calls, struct fg_parked_call *call);

#endif
