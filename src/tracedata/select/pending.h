/* Events that wait until it is known whether they are shown: a queue of copies. They are of one lane; of a
 * kernel's trace of a buffer's lanes, each of which has its own losses. */
#ifndef FG_HELD_H
#define FG_HELD_H

#include "tracedata/base/trace_event.h"

enum fg_verdict { FG_VERDICT_OPEN, FG_VERDICT_SHOW, FG_VERDICT_DROP };

struct fg_pending_event {
    struct fg_event event;
    uint32_t depth; /* at which a call is shown */
    size_t at;      /* where its data begins in fg_pending.data */
    enum fg_verdict verdict;
};

struct fg_pending {
    struct fg_pending_event *events; /* from `first` on */
    size_t first, end, capacity;
    uint64_t taken; /* how many have left at the front: event i has the number taken + i - first */
    uint8_t *data;
    size_t data_bytes, data_capacity;
    uint64_t *lost; /* by lane: before the next event that comes in; stays the owner's */
};

void fg_pending_free(struct fg_pending *held);

/* Adds a copy of an event at the end. Return: 0 or -ENOMEM; *@number names it. */
int fg_pending_add(struct fg_pending *held, const struct fg_event *event, uint32_t depth,
                   enum fg_verdict verdict, uint64_t *number);
/* Decides about an event that is open. What was lost before a dropped one is lost before its successor in the
 * lane. */
void fg_pending_decide(struct fg_pending *held, uint64_t number, enum fg_verdict verdict);

/* The first event, with its data, if it is decided that it is shown; else NULL. Valid until the next call. */
const struct fg_pending_event *fg_pending_take(struct fg_pending *held);

#endif
