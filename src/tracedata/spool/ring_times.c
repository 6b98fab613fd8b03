/* The line from ticks to the trace's clock, of each ring: see contents.h. */
#include <errno.h>
#include <stdlib.h>

#include "tracedata/spool/contents.h"

/* A pair's two clocks are read some 100 ns apart, which is 1 in 10,000,000 of this. */
#define OWN_LINE_NS UINT64_C(1000000000)

/* Pairs of the rings of one host: NULL if it has none that count ticks. */
struct host_pairs {
    const struct fg_clock_pair *first; /* of all */
    const struct fg_clock_pair *own;   /* the first one that was read while this file was written */
    const struct fg_clock_pair *last;
};

static void keep_earlier(const struct fg_clock_pair **earliest, const struct fg_clock_pair *pair)
{
    if (*earliest == NULL || pair->monotonic_ns < (*earliest)->monotonic_ns)
        *earliest = pair;
}

static void add_pairs(struct host_pairs *pairs, const struct fg_trace_ring *ring)
{
    const struct fg_clock_pair *latest = &ring->state.clock_latest;

    if (ring->clock_kind != FG_CLOCK_TSC)
        return;
    keep_earlier(&pairs->first, &ring->clock_start);
    keep_earlier(&pairs->own,
                 ring->base.clock_latest.monotonic_ns ? &ring->base.clock_latest : &ring->clock_start);
    if (pairs->last == NULL || latest->monotonic_ns > pairs->last->monotonic_ns)
        pairs->last = latest;
}

/* A file of a recording that runs for months has its own line: over months the clocks' rates change, and
 * the machine may have slept. A short file takes the line from the beginning of its rings. */
static struct fg_time_scale monotonic_scale(const struct host_pairs *pairs, uint32_t clock_kind)
{
    const struct fg_clock_pair *first = pairs->own, *last = pairs->last;

    if (clock_kind != FG_CLOCK_TSC || first == NULL)
        return fg_time_scale_monotonic();
    if (last->monotonic_ns - first->monotonic_ns < OWN_LINE_NS || last->monotonic_ns < first->monotonic_ns)
        first = pairs->first;
    return fg_time_scale_between(*first, *last);
}

static void set_scale(const struct fg_contents *contents, struct fg_trace_ring *ring,
                      const struct host_pairs *pairs)
{
    ring->scale = monotonic_scale(pairs, ring->clock_kind);
    if (ring->host.name)
        ring->scale = fg_time_scale_on_clock(ring->scale, ring->host.first, ring->host.last);
    if (contents->clock_first.monotonic_ns)
        ring->scale = fg_time_scale_on_clock(ring->scale, contents->clock_first, contents->clock_last);
}

int fg_contents_set_time_scales(struct fg_contents *contents)
{
    uint32_t nr_hosts = 1;
    struct host_pairs *hosts;

    for (size_t i = 0; i < contents->nr_rings; i++)
        if (contents->rings[i].host.number >= nr_hosts)
            nr_hosts = contents->rings[i].host.number + 1;
    hosts = calloc(nr_hosts, sizeof(*hosts));
    if (hosts == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < contents->nr_rings; i++)
        add_pairs(&hosts[contents->rings[i].host.number], &contents->rings[i]);
    for (size_t i = 0; i < contents->nr_rings; i++)
        set_scale(contents, &contents->rings[i], &hosts[contents->rings[i].host.number]);
    free(hosts);
    return 0;
}
