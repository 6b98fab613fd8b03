/* See discards.h. */
#include "tracedata/answers/discards.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/ring/record.h"

int fg_discards_init(struct fg_discards *discards, uint32_t nr_functions)
{
    discards->functions = calloc(nr_functions + (size_t)1, sizeof(*discards->functions));
    discards->nr_functions = nr_functions;
    return discards->functions ? 0 : -ENOMEM;
}

void fg_discards_free(struct fg_discards *discards)
{
    free(discards->functions);
}

static bool is_of_function(const struct fg_answer_call *caller, const void *argument)
{
    return caller->func == *(const uint32_t *)argument;
}

static void add_discarded(struct fg_discards_function *function, struct fg_answer *answer,
                          const struct fg_answer_end *end)
{
    const struct fg_answer_call *call = end->call;

    function->discarded++;
    if (!function->open || !fg_answer_each_caller(answer, end->stretch, is_of_function, &call->func))
        function->ran_ns += call->ran_ns;
    if (function->discarded > 1 && call->ran_ns <= function->longest_ns)
        return;
    function->longest_ns = call->ran_ns;
    function->longest_begin_ns = call->begin_ns;
    function->longest_end_ns = end->end_ns;
    function->longest_task = end->task;
}

void fg_discards_end(struct fg_discards *discards, struct fg_answer *answer, const struct fg_answer_end *end)
{
    struct fg_discards_function *function;

    if (end->call->func >= discards->nr_functions)
        return;
    function = &discards->functions[end->call->func];
    function->open--;
    if (end->ended != FG_CALL_return || end->values >= end->values_end)
        return;
    function->calls++;
    function->results += *end->values != FG_VALUE_NONE;
    if (end->is_discarded)
        add_discarded(function, answer, end);
}
