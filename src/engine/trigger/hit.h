/* A hit of an event, with what histograms and events on events take from it beside its image. */
#ifndef FG_HIT_H
#define FG_HIT_H

#include "engine/hist/hist_term.h"
#include "engine/trigger/event_record.h"

#define FG_COMM_BYTES 16

/* What a hit refers to. */
struct fg_hit_room {
    struct fg_caller callers[FG_HIST_MAX_STACK];
    char comm[FG_COMM_BYTES];
};

/**
 * fg_hit_fill() - Describe a hit.
 * @room: must stay as long as the hit
 * @needs: a set of enum fg_hist_need; what is not needed is not asked for
 *
 * Context: inside the guard.
 */
void fg_hit_fill(struct fg_hit *hit, struct fg_hit_room *room, uint32_t needs,
                 const struct fg_event_site *site, const uint8_t *image, uint32_t bytes);

#endif
