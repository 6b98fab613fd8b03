/* Exceptions: each from where it was raised through the calls that it ended to where it was handled.
 *
 *     bad() raises            an exception begins: no callee delivered it to bad()
 *     mid() ends by it        it passes: same type, same address
 *     page() calls again      nothing is known yet: it may be in a `finally`
 *     page() returns          page() has handled it
 *
 * Of an exception that ends a call a trace has the type and the address. One that arrives at a call that has
 * received one of the same type and address before is another one: the first one was handled. */
#ifndef FG_EXCEPTIONS_H
#define FG_EXCEPTIONS_H

#include <stdbool.h>

#include "engine/base/hash_table.h"
#include "tracedata/answers/answer_calls.h"

#define FG_NO_FUNCTION UINT32_MAX
#define FG_EXCEPTION_TYPE_BYTES 40u
#define FG_EXCEPTION_CAUSE_BYTES 320u /* of a longer one the type is kept, which is shorter */

/* X(name): what became of it */
#define FG_EXCEPTION_FATES(X)                                                                                \
    X(handled)  /* the call that received it ended otherwise, or received it again */                        \
    X(replaced) /* that call ended by another exception */                                                   \
    X(left)     /* no call around the last one that it ended is in the trace */                              \
    X(open)     /* the end of the call that received it is not in the trace */

enum fg_exception_fate {
#define X(name) FG_EXCEPTION_##name,
    FG_EXCEPTION_FATES(X)
#undef X
        FG_NR_EXCEPTION_FATES
};

struct fg_exception_type {
    char text[FG_EXCEPTION_TYPE_BYTES];
    uint8_t bytes;
};

/* Its __cause__: a recorded value; @bytes is 0 if it has none, or none is recorded. */
struct fg_exception_cause {
    uint8_t value[FG_EXCEPTION_CAUSE_BYTES];
    uint16_t bytes;
};

/* A call that it ended, and the line at which that call had been made, or 0. */
struct fg_exception_frame {
    uint32_t func, caller_line;
};

struct fg_exception {
    uint64_t number;    /* among all, from 1, in the order in which they were raised */
    uint64_t identity;  /* its address, or what stands for it (exceptions.c); 0: not known */
    uint64_t raised_ns; /* the end of the call that raised it */
    uint64_t begin_ns;  /* the begin of that call */
    uint64_t left_ns;   /* the end of the last call that it ended */
    uint32_t task;      /* its number */
    struct fg_exception_type type;
    struct fg_exception_frame *frames; /* the call that raised it first */
    size_t nr_frames, capacity;
    uint32_t handler; /* that received it last, or FG_NO_FUNCTION */
    enum fg_exception_fate fate;
    struct fg_exception_cause cause;
    uint64_t after;      /* the number of the one that the raising call had received last; 0: none */
    uint32_t after_func; /* what raised that one */
    struct fg_exception_type after_type;
};

/* Exceptions of one type, raised by one function, handled by one. The first of them is kept. */
struct fg_exception_group {
    struct fg_exception first;
    uint64_t count, last_number, last_ns;
};

struct fg_exceptions {
    struct fg_exception_group *groups;
    size_t nr_groups, groups_capacity;
    struct fg_hash_table table;
    uint64_t nr_exceptions;
    uint64_t target; /* the number of one that is kept; 0: none */
    struct fg_exception found;
    uint64_t nr_left_out;
};

void fg_exceptions_free(struct fg_exceptions *exceptions);

/* Takes in the end of a call. Return: 0 or -ENOMEM. */
int fg_exceptions_end(struct fg_exceptions *exceptions, const struct fg_answer_end *end);
/* The `drop` of an answer. */
void fg_exceptions_drop(struct fg_answer_call *call);

/* ---- an answer of exceptions alone */

struct fg_exception_answer;

/* @wanted: the number of the one that is kept whole, or 0. Return: 0 or -ENOMEM. */
int fg_exception_answer_new(struct fg_merge *merge, uint64_t target, struct fg_exception_answer **answer);
void fg_exception_answer_free(struct fg_exception_answer *answer);
int fg_exception_answer_run(struct fg_exception_answer *answer, uint64_t events);
const struct fg_answer *fg_exception_answer_calls(const struct fg_exception_answer *answer);
const struct fg_exceptions *fg_exception_answer_result(const struct fg_exception_answer *answer);

#endif
