/* See recorder_counts.h. */
#include "tracedata/recorder/recorder_counts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "tracedata/recorder/census.h"

/* As many tasks as the ring counts; or those that have records, if the ring was cut off before it counted
 * them. */
static uint64_t nr_tasks(const struct fg_trace_ring *known, const struct fg_spool_state *state)
{
    uint64_t count = 0;

    for (size_t i = 0; i < known->nr_tasks; i++)
        count += known->tasks[i].last_ticks != 0;
    return count > state->nr_tasks ? count : state->nr_tasks;
}

/* The counts of a ring, since the present file began, and the kill switch's message. A ring that is mapped
 * tells them itself, unless its owner has damaged it. */
static struct fg_spool_state latest_state(const struct fg_recorder *recorder, uint32_t number, char *killed)
{
    const struct fg_trace_ring *known = &recorder->contents.rings[number];
    const struct fg_recorder_ring *ring = number < recorder->nr_rings ? &recorder->rings[number] : NULL;
    struct fg_spool_state state = known->state;

    killed[0] = 0;
    if (ring && ring->reader) {
        struct fg_ring_counts counts;
        struct fg_spool_state now = fg_recorder_ring_state(recorder, ring, &counts);

        if (!fg_ring_reader_damage(ring->reader)) {
            memcpy(killed, counts.killed, sizeof(counts.killed));
            return fg_spool_state_since(now, &known->base);
        }
    }
    if (known->killed)
        snprintf(killed, FG_SPOOL_MAX_TEXT_BYTES + 1, "%s", known->killed);
    return state;
}

int fg_recorder_info(const struct fg_recorder *recorder, uint32_t number, struct fg_recorder_info *info)
{
    const struct fg_trace_ring *known;
    struct fg_spool_state state;
    struct fg_time_scale scale;

    if (number >= recorder->contents.nr_rings)
        return -ESRCH;
    known = &recorder->contents.rings[number];
    state = latest_state(recorder, number, info->killed);
    scale = known->clock_kind == FG_CLOCK_TSC ? fg_time_scale_between(known->clock_start, state.clock_latest)
                                              : fg_time_scale_monotonic();
    info->counts = (struct fg_recorder_counts){
        .records = known->records,
        .bytes = known->bytes,
        .lost = state.records_lost,
        .damaged = known->nr_damaged,
        .overrun = state.overrun,
        .waits = state.wait_count,
        .wait_ns = fg_time_scale_span(&scale, state.wait_ticks),
        .processes = 1,
        .tasks = nr_tasks(known, &state),
        .cut = state.symbols_lost != 0,
        .functions = known->nr_functions,
    };
    info->pid = known->pid;
    info->instance = known->instance;
    info->finished = state.finished != 0;
    info->seen = known->nr_seen;
    return 0;
}

int fg_recorder_totals(const struct fg_recorder *recorder, struct fg_recorder_counts *totals)
{
    int64_t nr_recorded = fg_census_nr_recorded(&recorder->contents);
    struct fg_census census;

    if (nr_recorded < 0 || fg_census_take(&recorder->contents, &census) < 0)
        return -ENOMEM;
    *totals = (struct fg_recorder_counts){.damaged = recorder->contents.nr_gaps};
    for (uint32_t i = 0; i < recorder->contents.nr_rings; i++) {
        struct fg_recorder_info info;

        fg_recorder_info(recorder, i, &info);
#define X(name, text) totals->name += info.counts.name;
        FG_RECORDER_COUNTS(X)
#undef X
    }
    totals->functions = (uint64_t)nr_recorded;
    totals->processes = census.processes;
    /* The sum has tasks whose records were all lost, but counts a task once for each of its instances. */
    if (fg_census_has_instances(&recorder->contents))
        totals->tasks = census.tasks;
    return 0;
}
