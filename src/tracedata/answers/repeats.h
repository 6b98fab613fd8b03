/* What a program did more than once: the same call, or a statement of SQL of the same shape, below one call;
 * the same call with the same result over the whole run.
 *
 *     page()                     the innermost call below which query("a") was made `least` times is page():
 *       order() query("a")       these calls are counted there, and in no call around it
 *       order() query("a")
 *       query("a")
 *
 * A call is the same if its function and its recorded arguments are. The memory is bounded: what was met once
 * is forgotten first, and counted. */
#ifndef FG_REPEATS_H
#define FG_REPEATS_H

#include "tracedata/answers/discards.h"
#include "tracedata/answers/exceptions.h"

enum fg_repeat_kind { FG_REPEAT_CALL, FG_REPEAT_SQL };

/* Calls of one function (for SQL: of one shape) that were repeated below calls of one function. */
struct fg_repeat_group {
    uint32_t below, func;
    enum fg_repeat_kind kind;
    uint64_t key;                        /* of the shape; of calls that of `most` */
    uint64_t runs;                       /* below so many calls */
    uint64_t calls;                      /* all of them */
    uint64_t ran_ns, repeated_ns;        /* of all; without one in each run */
    uint64_t most;                       /* below one call */
    uint64_t most_begin_ns, most_end_ns; /* that call */
    uint32_t most_task;
    uint32_t text_at, text_bytes; /* the arguments, or the shape; 0: they were forgotten */
};

/* Calls of a function over the whole run, by their arguments and results. */
struct fg_repeat_function {
    uint64_t calls;     /* that ended, and have arguments and a result */
    uint64_t hits;      /* with the arguments and the result of an earlier one */
    uint64_t hit_ns;    /* of these, without those in other hits of the function */
    uint64_t differing; /* arguments that had different results */
    uint64_t repeated;  /* arguments that were used more than once, always with the same result */
    uint64_t best_calls, best_ns;
    uint32_t best_at, best_bytes; /* the arguments whose repetitions took longest */
    bool is_none;                 /* all results were None */
    bool is_partial;              /* of some arguments or results only type, length or address are recorded */
    uint32_t open;                /* calls in progress */
};

struct fg_repeats;

/* @least: repetitions below one call that count. The other arguments as of fg_value_groups_new(). */
int fg_repeats_new(struct fg_merge *merge, const uint8_t *function_mask, uint64_t least,
                   struct fg_repeats **repeats);
void fg_repeats_free(struct fg_repeats *repeats);
int fg_repeats_run(struct fg_repeats *repeats, uint64_t events);

/* After the last event. */
const struct fg_repeat_group *fg_repeats_groups(const struct fg_repeats *repeats, size_t *n);
/* By index of the trace's functions. */
const struct fg_repeat_function *fg_repeats_functions(const struct fg_repeats *repeats);
const struct fg_discards *fg_repeats_discards(const struct fg_repeats *repeats);
const struct fg_exceptions *fg_repeats_exceptions(const struct fg_repeats *repeats);
const struct fg_answer *fg_repeats_calls(const struct fg_repeats *repeats);
const uint8_t *fg_repeats_texts(const struct fg_repeats *repeats);
uint64_t fg_repeats_forgotten(const struct fg_repeats *repeats);

#endif
