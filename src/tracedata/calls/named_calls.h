/* The calls that have a name: those of generators and coroutines, from their first suspend to their end. */
#ifndef FG_NAMED_CALLS_H
#define FG_NAMED_CALLS_H

#include <stdbool.h>

#include "engine/base/hash_table.h"

/* A call; its consumer's struct follows. */
struct fg_named_call {
    uint64_t start_ns; /* when it first began */
    uint32_t func;
    int32_t pid;            /* a fork makes two calls of a suspended generator */
    uint32_t thread, depth; /* where its latest stretch is */
    uint64_t last_ns;       /* when that ended */
    bool is_used;
    bool is_open; /* that is in progress */
};

/* It grows with the calls that have a name at one time, not with all calls. A call stays at its place, but
 * moves in memory when the table grows. */
struct fg_named_calls {
    unsigned char *calls; /* in no order */
    size_t n, capacity;
    size_t stride; /* bytes from one to the next */
    size_t *spare; /* the places below n that are free */
    size_t nr_spare, spare_capacity;
    struct fg_hash_table by_name; /* -> 1 + the place */
};

void fg_named_calls_free(struct fg_named_calls *named);

static inline struct fg_named_call *fg_named_call_at(const struct fg_named_calls *named, size_t place)
{
    return (struct fg_named_call *)(void *)(named->calls + place * named->stride);
}

/* Return: 1 + the place of the call, or 0. */
size_t fg_named_calls_find(const struct fg_named_calls *named, uint64_t start_ns, uint32_t func, int32_t pid);
/* Adds a call whose name no other has. Its consumer's struct is not initialized. Return: 1 + its place; 0:
 * memory is short. */
size_t fg_named_calls_add(struct fg_named_calls *named, uint64_t start_ns, uint32_t func, int32_t pid);
/* Gives it another start, which no call of its function and process has. Return: 0 or -ENOMEM. */
int fg_named_calls_rename(struct fg_named_calls *named, size_t place, uint64_t start_ns);
void fg_named_calls_remove(struct fg_named_calls *named, size_t place);

#endif
