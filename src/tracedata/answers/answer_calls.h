/* Calls with their recorded values, handed to an answer one by one: to values, repeats, exceptions, slow
 * calls.
 *
 * An answer's own state begins with struct fg_answer. What it keeps of a call in progress or suspended it
 * hangs on the call. The assembler (calls/assembler.h) decides which events are one call. */
#ifndef FG_ANSWER_CALLS_H
#define FG_ANSWER_CALLS_H

#include "tracedata/base/text.h"
#include "tracedata/calls/assembler.h"
#include "tracedata/read/merge.h"
#include "tracedata/view/call_columns.h"

enum fg_answer_slot { FG_SLOT_REPEATS, FG_SLOT_EXCEPTIONS, FG_NR_ANSWER_SLOTS };

struct fg_answer_call {
    uint64_t number; /* in the order of beginnings, from 1 */
    uint64_t begin_ns;
    uint64_t ran_ns; /* of its stretches that have ended */
    uint64_t key;    /* the answer's */
    uint32_t func;   /* at most nr_functions: all that the trace does not name are one; an import: beyond */
    uint32_t caller_line;     /* the line at which it was called; 0: not recorded */
    uint32_t resumes;         /* how often it was resumed */
    bool has_parent;          /* it was made from a call that is read, too */
    bool is_whole;            /* all its stretches are in the trace */
    bool has_arguments;       /* they are in the trace */
    struct fg_text arguments; /* as recorded: fg_value_next(), without what follows the last one */
    void *slots[FG_NR_ANSWER_SLOTS];
};

/* The end of a call. */
struct fg_answer_end {
    struct fg_answer_call *call;
    struct fg_answer_call *parent; /* the call in progress below it on the stack; NULL: none is known */
    const struct fg_stretch *stretch;
    uint64_t end_ns;
    uint32_t task; /* its number */
    enum fg_call_end ended;
    const uint8_t *values, *values_end; /* the result or the exception */
    bool is_discarded;                  /* the caller throws away this result */
};

struct fg_answer;

/* Each returns 0 or a negative errno. */
struct fg_answer_ops {
    int (*begin)(struct fg_answer *answer, struct fg_answer_call *call); /* or NULL */
    int (*end)(struct fg_answer *answer, const struct fg_answer_end *end);
    void (*drop)(struct fg_answer_call *call); /* frees what is in its slots; or NULL */
};

struct fg_answer {
    struct fg_call_assembler calls;
    struct fg_merge *merge;
    const struct fg_answer_ops *ops;
    const uint8_t *function_mask; /* by function: its arguments are kept; NULL: of no function */
    uint32_t nr_functions;
    uint64_t nr_calls;     /* that began, or of which only a later event is in the trace */
    uint64_t nr_open;      /* whose end is not in the trace */
    uint64_t nr_suspended; /* of these: suspended at the end */
};

void fg_answer_init(struct fg_answer *answer, struct fg_merge *merge, const struct fg_answer_ops *ops,
                    const uint8_t *function_mask);
void fg_answer_free(struct fg_answer *answer);

/* Takes up to @events more events. Return: 1; 0: that was all; or an error of fg_merge_next(). */
int fg_answer_run(struct fg_answer *answer, uint64_t events);

/* Visits the calls below a call on its stack, the nearest first, until @visit returns true. Return: whether
 * it did. */
bool fg_answer_each_caller(struct fg_answer *answer, const struct fg_stretch *stretch,
                           bool (*visit)(const struct fg_answer_call *caller, const void *argument),
                           const void *argument);

static inline bool fg_answer_keeps_arguments(const struct fg_answer *answer, uint32_t func)
{
    return answer->function_mask && func < answer->nr_functions && answer->function_mask[func];
}

#endif
