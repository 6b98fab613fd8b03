/* The calls in progress of each thread, and the suspended ones of all. */
#ifndef FG_OPEN_CALLS_H
#define FG_OPEN_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/view/parked_calls.h"

/* A call in progress or suspended. With is_open false, it is not known: it collects the times of its callees
 * all the same. */
struct fg_traced_call {
    uint32_t func;
    uint32_t parent, caller, caller_line;
    uint32_t task;
    uint32_t thread, depth; /* where it was suspended */
    uint32_t resumes;
    uint32_t enclosing; /* while it is open: what `innermost` of its thread was before */
    int32_t pid;        /* set when it is suspended, with was_suspended */
    bool is_open, is_irq, was_suspended;
    bool is_whole;            /* its beginning is known */
    uint64_t id, above, root; /* as in slices.h */
    uint64_t call_ns;         /* when it first began */
    uint64_t begin_ns;        /* this stretch */
    uint64_t waited_ns;       /* the thread's wait_ns when this stretch began */
    uint64_t suspended_ns;    /* when it last was */
    uint64_t callees_ns;
    uint64_t ran_ns, self_ns; /* sums of the stretches before */
    uint8_t *values;          /* its arguments; NULL: none */
    size_t values_bytes;
};

struct fg_call_thread {
    struct fg_traced_call *calls; /* by depth; those at `depth` and deeper are blank but for callees_ns */
    size_t capacity;
    uint32_t depth;
    uint32_t innermost; /* depth of the innermost open call, plus 1; 0: none is open */
    uint64_t last_ns, wait_ns;
};

struct fg_open_calls {
    struct fg_call_thread *threads;
    size_t nr_threads, capacity;
    struct fg_parked_calls parked;
};

void fg_open_calls_free(struct fg_open_calls *open);

/* The thread, with room for a call at @depth. NULL: memory is short. */
struct fg_call_thread *fg_open_calls_thread(struct fg_open_calls *open, uint32_t thread, uint32_t depth);

/* Where a call goes on. */
struct fg_call_place {
    uint32_t thread, depth;
};

/* Takes the suspended call of this name out, which goes on at @place now. False: there is none. */
bool fg_open_calls_take(struct fg_open_calls *open, uint64_t call_ns, uint32_t func, int32_t pid,
                        struct fg_call_place place, struct fg_traced_call *call);
/* The same of a call that goes on elsewhere: in a damaged trace, or one that lacks its suspend. It stays
 * there, for the caller to take. Return: the call, and *@from is its place; NULL: there is none. */
struct fg_traced_call *fg_open_calls_move(struct fg_open_calls *open, uint64_t call_ns, uint32_t func,
                                          int32_t pid, struct fg_call_place place,
                                          struct fg_call_place *from);
/* Takes over a call that is suspended now. Return: 0; -ENOMEM, and the call stays the caller's. */
int fg_open_calls_park(struct fg_open_calls *open, const struct fg_traced_call *call, int32_t pid);
/* The call does not go on: it has ended, or was lost. */
void fg_open_calls_forget(struct fg_open_calls *open, const struct fg_traced_call *call);

/* Frees what a call holds. */
void fg_traced_call_clear(struct fg_traced_call *call);

#endif
