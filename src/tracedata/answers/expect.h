/* Compares the calls of a trace with an expectation, thread by thread: the threads of the outermost calls.
 *
 * An outermost call is in the thread in which it ends. Almost all began there, so that is supposed at first.
 * Those that did not are told at the end: with them known from the beginning, the trace is to be read once
 * more. */
#ifndef FG_EXPECT_H
#define FG_EXPECT_H

#include "tracedata/answers/call_matcher.h"
#include "tracedata/read/merge.h"

#define FG_NO_THREAD UINT32_MAX

/* An outermost call that ends in another task than it began in. */
struct fg_moved_call {
    uint64_t number;
    uint32_t task;
};

struct fg_expect_input {
    struct fg_expectation *expectation;
    const uint32_t *threads; /* by task: the number of its thread; tasks beyond have none */
    size_t nr_tasks;
    const uint8_t *sections; /* by thread, nr_sections each: whether the section is of the thread */
    uint32_t nr_threads;
    const struct fg_moved_call *moved; /* that are known, by number */
    size_t nr_moved;
    uint64_t most_steps;
};

/* A thread that has outermost calls. */
struct fg_expect_thread {
    struct fg_match_call *match;
    uint64_t first; /* the number of its first outermost call; 0: it has none */
    uint32_t task;  /* in which that ended */
};

struct fg_expect;

/* Begins to read the calls of @merge; both arguments stay the caller's and live as long. Return: 0 or
 * -ENOMEM. */
int fg_expect_new(struct fg_merge *merge, const struct fg_expect_input *input, struct fg_expect **expect);
void fg_expect_free(struct fg_expect *expect);

/* Reads up to @events more events. Return: 1; 0: that was all, or it takes too many steps; or an error of
 * fg_merge_next(). */
int fg_expect_run(struct fg_expect *expect, uint64_t events);

/* ---- after that */

const struct fg_call_matcher *fg_expect_matcher(const struct fg_expect *expect);
/* nr_threads of them. */
const struct fg_expect_thread *fg_expect_threads(const struct fg_expect *expect);
/* Outermost calls that ended elsewhere than was supposed, by number. */
const struct fg_moved_call *fg_expect_moved(const struct fg_expect *expect, size_t *n);
/* How many calls there are. */
uint64_t fg_expect_calls(const struct fg_expect *expect);
/* By function, and once more for those that the trace does not name: whether it was called. */
const uint8_t *fg_expect_called(const struct fg_expect *expect);

#endif
