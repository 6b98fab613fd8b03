/* Functions whose results their callers throw away. */
#ifndef FG_DISCARDS_H
#define FG_DISCARDS_H

#include "tracedata/answers/answer_calls.h"

struct fg_discards_function {
    uint64_t calls;     /* that returned with a recorded result */
    uint64_t results;   /* other than None */
    uint64_t discarded; /* of these */
    uint64_t ran_ns;    /* of the discarded ones, without those below another call of the function */
    uint64_t longest_ns, longest_begin_ns, longest_end_ns; /* of the discarded ones */
    uint32_t longest_task;
    uint32_t open; /* calls in progress */
};

struct fg_discards {
    struct fg_discards_function *functions; /* by index */
    uint32_t nr_functions;
};

/* Return: 0 or -ENOMEM. */
int fg_discards_init(struct fg_discards *discards, uint32_t nr_functions);
void fg_discards_free(struct fg_discards *discards);

/* Each call's begin and end. */
static inline void fg_discards_begin(struct fg_discards *discards, uint32_t func)
{
    if (func < discards->nr_functions)
        discards->functions[func].open++;
}

void fg_discards_end(struct fg_discards *discards, struct fg_answer *answer, const struct fg_answer_end *end);

#endif
