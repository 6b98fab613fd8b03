/* See slow_calls.h. */
#include "tracedata/answers/slow_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "tracedata/answers/answer_calls.h"

struct fg_slow_calls {
    struct fg_answer answer;
    const uint32_t *keys;
    struct fg_ranked_calls *ranked; /* in the order in which their first calls ended */
    size_t n, capacity;
    size_t *places; /* by key: 1 + its place in `ranked` */
};

static uint32_t most_of(const uint32_t *keys, uint32_t n)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < n; i++)
        if (keys[i] > most)
            most = keys[i];
    return most;
}

/* NULL: memory is short. */
static struct fg_ranked_calls *find_ranked(struct fg_slow_calls *slow, uint32_t key)
{
    size_t *place = &slow->places[key];

    if (fg_likely(*place))
        return &slow->ranked[*place - 1];
    if (fg_array_reserve(&slow->ranked, &slow->capacity, slow->n + 1) < 0)
        return NULL;
    slow->ranked[slow->n] = (struct fg_ranked_calls){.key = key};
    *place = ++slow->n;
    return &slow->ranked[*place - 1];
}

static int add_ranked(struct fg_ranked_calls *ranked, const struct fg_answer_end *end)
{
    const struct fg_answer_call *call = end->call;
    uint64_t took_ns = fg_minus(end->end_ns, call->begin_ns);

    if (fg_array_reserve(&ranked->calls, &ranked->capacity, ranked->n + 1) < 0)
        return -ENOMEM;
    if (!ranked->n || took_ns > ranked->longest.end_ns - ranked->longest.begin_ns)
        ranked->longest = (struct fg_longest_call){
            .number = call->number,
            .begin_ns = call->begin_ns,
            .end_ns = call->begin_ns + took_ns,
            .task = end->task,
            .resumes = call->resumes,
        };
    ranked->calls[ranked->n++] = (struct fg_ranked_call){call->begin_ns, took_ns};
    return 0;
}

static int end_call(struct fg_answer *answer, const struct fg_answer_end *end)
{
    struct fg_slow_calls *slow = (struct fg_slow_calls *)(void *)answer;
    const struct fg_answer_call *call = end->call;
    bool is_finished = call->is_whole && end->ended != FG_CALL_open;
    struct fg_ranked_calls *ranked;

    if (call->func >= answer->nr_functions || !slow->keys[call->func])
        return 0;
    ranked = find_ranked(slow, slow->keys[call->func]);
    if (!ranked)
        return -ENOMEM;
    ranked->total_ns += is_finished ? call->ran_ns : 0;
    if (call->has_parent)
        return 0;
    ranked->nr_unfinished += !is_finished;
    return is_finished ? add_ranked(ranked, end) : 0;
}

static const struct fg_answer_ops ops = {.end = end_call};

int fg_slow_calls_new(struct fg_merge *merge, const uint32_t *keys, struct fg_slow_calls **slow)
{
    struct fg_slow_calls *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    fg_answer_init(&made->answer, merge, &ops, NULL);
    made->keys = keys;
    made->places = calloc(most_of(keys, merge->names->nr_functions) + (size_t)1, sizeof(*made->places));
    if (!made->places) {
        fg_slow_calls_free(made);
        return -ENOMEM;
    }
    *slow = made;
    return 0;
}

void fg_slow_calls_free(struct fg_slow_calls *slow)
{
    if (!slow)
        return;
    fg_answer_free(&slow->answer);
    for (size_t i = 0; i < slow->n; i++)
        free(slow->ranked[i].calls);
    free(slow->ranked);
    free(slow->places);
    free(slow);
}

int fg_slow_calls_run(struct fg_slow_calls *slow, uint64_t events)
{
    return fg_answer_run(&slow->answer, events);
}

const struct fg_ranked_calls *fg_slow_calls_most_used(const struct fg_slow_calls *slow)
{
    const struct fg_ranked_calls *most = NULL;

    for (size_t i = 0; i < slow->n; i++)
        if (!most || slow->ranked[i].total_ns > most->total_ns)
            most = &slow->ranked[i];
    return most;
}
