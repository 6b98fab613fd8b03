/* See hit.h. */
#define _GNU_SOURCE
#include "engine/trigger/hit.h"

#include <sched.h>
#include <sys/prctl.h>

#include "engine/base/clock.h"

void fg_hit_fill(struct fg_hit *hit, struct fg_hit_room *room, uint32_t needs,
                 const struct fg_event_site *site, const uint8_t *image, uint32_t bytes)
{
    *hit = (struct fg_hit){.image = image, .bytes = bytes};
    if (needs & FG_HIST_NEEDS_CPU)
        hit->cpu = (uint32_t)sched_getcpu();
    if (needs & FG_HIST_NEEDS_TIME)
        hit->time_ns = fg_clock_to_ns(fg_clock_now());
    if (needs & FG_HIST_NEEDS_COMM) {
        prctl(PR_GET_NAME, room->comm);
        hit->comm = room->comm;
    }
    if (needs & FG_HIST_NEEDS_CALLERS) {
        room->callers[0] = (struct fg_caller){.func = site->func};
        hit->nr_callers =
            1 + (site->regs ? fg_regs_callers(site->regs, room->callers + 1, FG_HIST_MAX_STACK - 1) : 0);
        hit->callers = room->callers;
    }
}
