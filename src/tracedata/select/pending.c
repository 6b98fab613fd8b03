/* See pending.h. */
#include "tracedata/select/pending.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

#define DATA_ALIGNMENT ((size_t)8)

void fg_pending_free(struct fg_pending *held)
{
    free(held->events);
    free(held->data);
    *held = (struct fg_pending){0};
}

/* Moves what is left to the beginning, when at least as much has left. */
static void compact(struct fg_pending *held)
{
    size_t left = held->end - held->first;
    size_t at = left ? held->events[held->first].at : held->data_bytes;

    if (held->first < left)
        return;
    memmove(held->events, held->events + held->first, left * sizeof(*held->events));
    memmove(held->data, held->data + at, held->data_bytes - at);
    for (size_t i = 0; i < left; i++)
        held->events[i].at -= at;
    held->data_bytes -= at;
    held->end = left;
    held->first = 0;
}

int fg_pending_add(struct fg_pending *held, const struct fg_event *event, uint32_t depth,
                   enum fg_verdict verdict, uint64_t *number)
{
    struct fg_pending_event *added;
    size_t at;
    int error;

    if (held->first)
        compact(held);
    at = (held->data_bytes + DATA_ALIGNMENT - 1) & ~(DATA_ALIGNMENT - 1);
    error = fg_array_reserve(&held->events, &held->capacity, held->end + 1);
    if (!error)
        error = fg_array_reserve(&held->data, &held->data_capacity, at + event->size + 1);
    if (error)
        return error;
    *number = held->taken + held->end - held->first;
    added = &held->events[held->end++];
    *added = (struct fg_pending_event){.event = *event, .depth = depth, .at = at, .verdict = verdict};
    added->event.lost = fg_add_lost(event->lost, held->lost[event->lane]);
    held->lost[event->lane] = 0;
    memcpy(held->data + at, event->data, event->size);
    held->data_bytes = at + event->size;
    return 0;
}

static void add_lost(uint64_t *lost, uint64_t more)
{
    *lost = fg_add_lost(*lost, more);
}

/* What was lost before a dropped event, which has left at the front. */
static void pass_lost_on(struct fg_pending *held, const struct fg_event *dropped)
{
    size_t next = held->first;

    if (!dropped->lost)
        return;
    while (next < held->end && held->events[next].event.lane != dropped->lane)
        next++;
    add_lost(next < held->end ? &held->events[next].event.lost : &held->lost[dropped->lane], dropped->lost);
}

void fg_pending_decide(struct fg_pending *held, uint64_t number, enum fg_verdict verdict)
{
    struct fg_pending_event *event = &held->events[held->first + (size_t)(number - held->taken)];

    event->verdict = verdict;
    if (verdict != FG_VERDICT_DROP || event != &held->events[held->end - 1])
        return;
    add_lost(&held->lost[event->event.lane], event->event.lost);
    held->data_bytes = event->at;
    held->end--;
}

const struct fg_pending_event *fg_pending_take(struct fg_pending *held)
{
    while (held->first < held->end && held->events[held->first].verdict != FG_VERDICT_OPEN) {
        struct fg_pending_event *event = &held->events[held->first++];

        held->taken++;
        event->event.data = held->data + event->at;
        if (event->verdict == FG_VERDICT_SHOW)
            return event;
        pass_lost_on(held, &event->event);
    }
    return NULL;
}
