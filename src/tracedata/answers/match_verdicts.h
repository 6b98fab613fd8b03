/* What is known of calls that are decided and wait: the lines that each may be, and how it fits them. Most
 * calls are like others, so each such list is there once, by its number. */
#ifndef FG_MATCH_VERDICTS_H
#define FG_MATCH_VERDICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_match_difference;

/* Those that are nearer to the line come later. */
enum fg_match_fit {
    FG_WRONG_ARGUMENTS,
    FG_WRONG_RESULT,
    FG_WRONG_CALLS,
    FG_FITS, /* as far as is known */
};

/* A line that a call may be. */
struct fg_match_candidate {
    uint32_t line;
    uint8_t fit;                            /* enum fg_match_fit */
    bool is_running;                        /* what it calls is compared */
    struct fg_match_difference *difference; /* FG_WRONG_CALLS */
};

/* Zeroed, there are none. */
struct fg_match_verdicts {
    struct fg_match_verdict {
        size_t first, n; /* candidates, without differences */
        uint32_t next;   /* 1 + the next one with the same hash */
    } * places;
    struct fg_match_candidate *candidates; /* of all */
    uint32_t *heads;                       /* by hash: 1 + the first one; or NULL */
    size_t n, capacity, nr_candidates, candidate_capacity;
};

/* Sets @number to the place of an equal list, which is added if there is none. Return: 0 or -ENOMEM. */
int fg_match_verdict_find(struct fg_match_verdicts *verdicts, const struct fg_match_candidate *candidates,
                          size_t n, uint32_t *number);
void fg_match_verdicts_free(struct fg_match_verdicts *verdicts);

#endif
