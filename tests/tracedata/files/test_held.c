/* Promise: events that wait for a verdict leave in their order, with their data, and each as soon as
 * nothing before it is open. What was lost before one that is dropped is lost before its successor: no
 * loss is forgotten or told twice. A random queue is compared with a plain list. */
#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/select/pending.h"

#define ROUNDS 400
#define STEPS 600
#define LANES 3

struct one {
    uint64_t number, lost;
    uint32_t lane, bytes, depth;
    enum fg_verdict verdict;
    uint8_t first;
    bool has_left;
};

static struct one list[STEPS];
static size_t n;

/* Adds an event to both. */
static void add(struct fg_pending *held)
{
    uint8_t data[200];
    struct one *one = &list[n++];
    struct fg_event event = {.data = data, .time_ns = n, .lane = (uint32_t)rand() % LANES};

    *one = (struct one){.lost = rand() % 4 ? 0 : (uint64_t)rand() % 100,
                        .lane = event.lane,
                        .bytes = (uint32_t)rand() % (uint32_t)sizeof(data),
                        .depth = (uint32_t)n,
                        .first = (uint8_t)rand(),
                        .verdict = rand() % 3 ? FG_VERDICT_OPEN : FG_VERDICT_SHOW};
    memset(data, one->first, sizeof(data));
    event.size = one->bytes;
    event.lost = one->lost;
    assert(fg_pending_add(held, &event, one->depth, one->verdict, &one->number) == 0);
}

/* Decides about the latest open event, as the innermost call ends first. Return: false: there is none. */
static bool decide(struct fg_pending *held)
{
    for (size_t i = n; i-- > 0;) {
        if (list[i].verdict == FG_VERDICT_OPEN) {
            list[i].verdict = rand() % 2 ? FG_VERDICT_SHOW : FG_VERDICT_DROP;
            fg_pending_decide(held, list[i].number, list[i].verdict);
            return true;
        }
    }
    return false;
}

/* Takes all that can leave. Adds what they tell of losses. */
static void take(struct fg_pending *held, uint64_t taken[LANES])
{
    const struct fg_pending_event *event;

    while ((event = fg_pending_take(held))) {
        size_t i = 0;

        while (list[i].has_left || list[i].verdict == FG_VERDICT_DROP)
            assert(++i < n);
        assert(list[i].verdict == FG_VERDICT_SHOW && event->depth == list[i].depth &&
               event->event.size == list[i].bytes);
        for (uint32_t k = 0; k < list[i].bytes; k++)
            assert(event->event.data[k] == list[i].first);
        list[i].has_left = true;
        assert(event->event.lane == list[i].lane);
        taken[list[i].lane] += event->event.lost;
    }
    for (size_t i = 0; i < n && list[i].verdict != FG_VERDICT_OPEN; i++)
        assert(list[i].has_left || list[i].verdict == FG_VERDICT_DROP);
}

static void run(unsigned seed)
{
    uint64_t taken[LANES] = {0}, lost[LANES] = {0}, left[LANES] = {0};
    struct fg_pending held = {.lost = left};

    srand(seed);
    n = 0;
    while (n < STEPS) {
        if (rand() % 2)
            add(&held);
        else
            decide(&held);
        if (rand() % 3 == 0)
            take(&held, taken);
    }
    while (decide(&held))
        ;
    take(&held, taken);
    for (size_t i = 0; i < n; i++)
        lost[list[i].lane] += list[i].lost;
    assert(held.first == held.end);
    for (int lane = 0; lane < LANES; lane++)
        assert(taken[lane] + left[lane] == lost[lane]);
    fg_pending_free(&held);
}

int main(void)
{
    for (unsigned seed = 1; seed <= ROUNDS; seed++)
        run(seed);
    printf("ok\n");
    return 0;
}
