/* The numbers of a trace's events, for the clock `counter`: 1 for the first in order of time, in all lanes;
 * of equal times in order of lanes, then of the lane itself. Lanes may be read one after the other or all
 * together, and the numbers are the same: so the times of all events are collected and sorted first, 16 bytes
 * for each, and a bit. */
#ifndef FG_RANKS_H
#define FG_RANKS_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/spool/time_scale.h"

struct fg_rank {
    uint64_t time_ns;
    uint64_t lane;
};

struct fg_ranks {
    struct fg_rank *events;
    size_t n, capacity;
    uint64_t *taken; /* a bit for each of them */
    size_t last;     /* the latest that was taken */
};

/* Collects the times of the records of one sub-buffer that become events. Return: 0 or -ENOMEM. */
int fg_ranks_add(struct fg_ranks *ranks, const struct fg_time_scale *scale, uint32_t lane,
                 const void *records, size_t bytes);
/* All times are there. Return: 0 or -ENOMEM. */
int fg_ranks_sort(struct fg_ranks *ranks);
/* The numbers of the first and the last event at that time. */
uint64_t fg_ranks_first(const struct fg_ranks *ranks, uint64_t time_ns);
uint64_t fg_ranks_last(const struct fg_ranks *ranks, uint64_t time_ns);
/* The number of the lane's next event at that time. Each is given once. */
uint64_t fg_ranks_take(struct fg_ranks *ranks, struct fg_rank event);
void fg_ranks_free(struct fg_ranks *ranks);

#endif
