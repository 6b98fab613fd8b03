/* Calls that a stage of reading folds: it leaves them out, and hands on how many they were.
 *
 * The end of what they were folded into is an exit, with the counts as its last bytes:
 *
 *     | struct fg_graph_data, values | 0 ... | struct fg_folded |
 *
 * If that end is not in the trace, an event of the type FG_EVENT_FOLDED has them. Neither is in a file. */
#ifndef FG_FOLDED_H
#define FG_FOLDED_H

#include "tracedata/base/trace_event.h"

struct fg_folded {
    uint64_t calls, resumes, exceptions;
};

/* Beyond the numbers that an event in a file can have. */
#define FG_EVENT_FOLDED UINT32_MAX

/* The data of such an event. */
struct __attribute__((packed)) fg_folded_event {
    uint32_t func; /* index of what they were folded into */
    uint32_t depth;
    struct fg_folded folded;
};

/* The counts of an event of a folding stage. Nothing is counted in an event that is too short. */
static inline struct fg_folded fg_event_folded(const struct fg_event *event)
{
    struct fg_folded folded = {0};
    size_t least = event->type == FG_EVENT_FOLDED ? sizeof(struct fg_folded_event)
                                                  : sizeof(struct fg_graph_data) + sizeof(folded);

    if (event->size >= least)
        memcpy(&folded, event->data + event->size - sizeof(folded), sizeof(folded));
    return folded;
}

#endif
