/* Compares calls with an expectation while they come.
 *
 * A call in progress may be one of several lines: its candidates, which the places of the call around it say.
 * Each candidate has the places in its own lines at which what it called so far may be. When a call ends,
 * it is known which candidates it is, and the places of the call around it advance:
 *
 *     lines           calls                 places of m, in what it may call
 *     m               m begins              before f
 *       f(n=1)          f(1) begins         (the candidate: line 2; its arguments are right)
 *       g x2            f(1) ends           before g
 *                       g begins, ends      in g: one
 *
 * Calls of one call are taken in the order in which they began: one that is suspended, or goes on in another
 * thread, may end later than those that began after it, which wait for it, in 16 bytes each. So memory grows
 * with the depth, and with what waits.
 *
 * Calls below none of the lines cost nothing: fg_match_begin() has no object for them, and no text is made
 * where no candidate looks at it. */
#ifndef FG_CALL_MATCHER_H
#define FG_CALL_MATCHER_H

#include "tracedata/answers/expected_places.h"
#include "tracedata/answers/match_verdicts.h"
#include "tracedata/view/call_columns.h"

/* X(name): what is different */
#define FG_MATCH_DIFFERENCES(X)                                                                              \
    X(call)      /* another call, or none */                                                                 \
    X(arguments) /* of the call */                                                                           \
    X(result)

enum fg_match_what {
#define X(name) FG_MATCH_##name,
    FG_MATCH_DIFFERENCES(X)
#undef X
};

/* Where calls first differ from lines. */
struct fg_match_difference {
    struct fg_match_difference *inner; /* in what the call `got` calls; then the rest counts for nothing */
    uint64_t got;                      /* the number of the call; 0: there is none */
    uint64_t before[2];                /* those of the calls before, in the same call; 0: none */
    enum fg_match_what what;
    uint32_t nr_expected;
    uint32_t expected[]; /* lines of which one would have been right */
};

/* A call that may be one of the lines. */
struct fg_match_call;

/* Prints arguments, or a result or the type of an exception. */
typedef void fg_match_print(struct fg_text *text, const void *source);

struct fg_call_matcher {
    struct fg_expectation *expectation;
    uint64_t steps, most_steps; /* pairs of a call and a place; what it may take */
    struct fg_match_call *free;
    struct fg_match_verdicts verdicts;
    struct fg_places next;              /* of one step */
    struct fg_text text;                /* of one call */
    struct fg_argument_texts arguments; /* likewise */
    struct {
        uint32_t *lines;
        size_t n, capacity;
    } met, expected; /* likewise */
};

void fg_call_matcher_free(struct fg_call_matcher *matcher);

static inline bool fg_call_matcher_is_over(const struct fg_call_matcher *matcher)
{
    return matcher->steps > matcher->most_steps;
}

/* A thread, of which some sections are: a byte for each. NULL: memory is short. */
struct fg_match_call *fg_match_thread_new(struct fg_call_matcher *matcher, const uint8_t *sections);
/* Ends it: all its calls have ended. Return: 0 or -ENOMEM. */
int fg_match_thread_end(struct fg_call_matcher *matcher, struct fg_match_call *thread);
/* Where the thread's calls differ from a section; NULL: they do not, or the section is not of the thread. */
const struct fg_match_difference *fg_match_thread_difference(const struct fg_call_matcher *matcher,
                                                             const struct fg_match_call *thread,
                                                             uint32_t section);
/* Frees it, and its calls in progress. */
void fg_match_thread_free(struct fg_match_call *thread);

/**
 * fg_match_begin() - a call begins
 * @parent: the call around it, or its thread; NULL: none of the lines is about it
 * @number: its number, from 1
 * @begun: set to the call; NULL: none of the lines is about it, nor about what it calls
 *
 * Return: 0 or -ENOMEM.
 */
int fg_match_begin(struct fg_call_matcher *matcher, struct fg_match_call *parent, uint64_t number,
                   uint32_t func, fg_match_print *print_arguments, const void *source,
                   struct fg_match_call **begun);
/* It ended: the caller forgets it. Return: 0 or -ENOMEM. */
int fg_match_end(struct fg_call_matcher *matcher, struct fg_match_call *call, enum fg_call_end ended,
                 fg_match_print *print_result, const void *source);

#endif
