/* See await_chains.h. */
#include "tracedata/export/await_chains.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/core/func_flags.h"

void fg_await_chains_free(struct fg_await_chains *chains)
{
    for (size_t i = 0; i < chains->nr_runs; i++)
        free(chains->runs[i].calls.calls);
    for (size_t i = 0; i < chains->nr_tracks; i++)
        free(chains->tracks[i].open.calls);
    free(chains->runs);
    free(chains->tracks);
    free(chains->steps);
    free(chains->new_tracks);
    fg_hash_clear(&chains->by_call);
    *chains = (struct fg_await_chains){0};
}

static bool is_same(struct fg_chain_call a, struct fg_chain_call b)
{
    return a.call_ns == b.call_ns && a.func == b.func;
}

static uint64_t hash_of(struct fg_chain_call call)
{
    return fg_hash_uint64(call.call_ns ^ (uint64_t)call.func << 40);
}

static int append(struct fg_chain *chain, struct fg_chain_call call)
{
    if (fg_array_reserve(&chain->calls, &chain->capacity, chain->n + 1) < 0)
        return -ENOMEM;
    chain->calls[chain->n++] = call;
    return 0;
}

/* The place of a call on a track; the track's number of calls: it is not there. */
static size_t place_of(const struct fg_chain_track *track, struct fg_chain_call call)
{
    size_t place = 0;

    while (place < track->open.n && !is_same(track->open.calls[place], call))
        place++;
    return place;
}

static struct fg_hash_slot *find_slot(const struct fg_await_chains *chains, struct fg_chain_call call)
{
    struct fg_hash_slot *slot = fg_hash_first(&chains->by_call, hash_of(call));

    while (slot) {
        const struct fg_chain_track *track = &chains->tracks[slot->value - 1];

        if (place_of(track, call) < track->open.n)
            break;
        slot = fg_hash_next(&chains->by_call, slot);
    }
    return slot;
}

/* ---- steps */

static int put_step(struct fg_await_chains *chains, struct fg_chain_track *track, uint64_t time_ns,
                    uint32_t func, bool is_begin)
{
    if (fg_array_reserve(&chains->steps, &chains->steps_capacity, chains->nr_steps + 1) < 0)
        return -ENOMEM;
    if (time_ns > track->last_ns)
        track->last_ns = time_ns;
    chains->steps[chains->nr_steps++] = (struct fg_chain_step){
        .time_ns = track->last_ns,
        .track = track->number,
        .func = func,
        .is_begin = is_begin,
    };
    return 0;
}

/* Ends the calls of a track from a place on, the innermost first. */
static int end_calls(struct fg_await_chains *chains, struct fg_chain_track *track, size_t place,
                     uint64_t time_ns)
{
    while (track->open.n > place) {
        struct fg_chain_call call = track->open.calls[track->open.n - 1];
        struct fg_hash_slot *slot = find_slot(chains, call);

        if (put_step(chains, track, time_ns, call.func, false) < 0)
            return -ENOMEM;
        if (slot)
            fg_hash_remove(&chains->by_call, slot);
        track->open.n--;
    }
    return 0;
}

static int begin_call(struct fg_await_chains *chains, struct fg_chain_track *track, struct fg_chain_call call)
{
    if (fg_hash_add(&chains->by_call, hash_of(call), (uint64_t)(track - chains->tracks) + 1) < 0 ||
        append(&track->open, call) < 0)
        return -ENOMEM;
    return put_step(chains, track, call.call_ns, call.func, true);
}

/* ---- tracks */

/* A track without calls, with room for what tells of a new one. NULL: memory is short. */
static struct fg_chain_track *free_track(struct fg_await_chains *chains)
{
    struct fg_chain_track *track;

    if (chains->first_free) {
        track = &chains->tracks[chains->first_free - 1];
        chains->first_free = track->next_free;
        return track;
    }
    if (fg_array_reserve_zeroed(&chains->tracks, &chains->tracks_capacity, chains->nr_tracks + 1) < 0)
        return NULL;
    return &chains->tracks[chains->nr_tracks++];
}

static struct fg_chain_track *add_track(struct fg_await_chains *chains, uint32_t thread, uint32_t func)
{
    struct fg_chain_track *track;

    if (fg_array_reserve(&chains->new_tracks, &chains->new_tracks_capacity, chains->nr_new_tracks + 1) < 0)
        return NULL;
    track = free_track(chains);
    if (track == NULL)
        return NULL;
    track->number = chains->next_number++;
    track->last_ns = 0;
    chains->new_tracks[chains->nr_new_tracks++] =
        (struct fg_new_track){.number = track->number, .thread = thread, .func = func};
    return track;
}

static void release_if_empty(struct fg_await_chains *chains, struct fg_chain_track *track)
{
    if (track->open.n)
        return;
    track->next_free = chains->first_free;
    chains->first_free = (size_t)(track - chains->tracks) + 1;
}

static bool is_coroutine(const struct fg_await_chains *chains, uint32_t func)
{
    return func < chains->nr_functions && chains->func_flags[func] & FG_FUNC_COROUTINE;
}

/* A run of suspends is over: its calls are those of the track now. */
static int settle(struct fg_await_chains *chains, uint32_t thread, struct fg_chain_run *run)
{
    size_t n = run->calls.n, same = 0;
    struct fg_chain_call root = run->calls.calls[n - 1];
    struct fg_hash_slot *slot;
    struct fg_chain_track *track;
    int error;

    run->calls.n = 0;
    if (!is_coroutine(chains, root.func))
        return 0;
    slot = find_slot(chains, root);
    track = slot ? &chains->tracks[slot->value - 1] : add_track(chains, thread, root.func);
    if (track == NULL)
        return -ENOMEM;
    /* A call that has left the chain, and did not end, is awaited no longer. */
    while (same < n && same < track->open.n &&
           is_same(track->open.calls[same], run->calls.calls[n - 1 - same]))
        same++;
    error = end_calls(chains, track, same, run->time_ns);
    for (; same < n && error == 0; same++)
        if (find_slot(chains, run->calls.calls[n - 1 - same]) == NULL)
            error = begin_call(chains, track, run->calls.calls[n - 1 - same]);
    release_if_empty(chains, track);
    return error;
}

/* ---- slices */

static int end_of_call(struct fg_await_chains *chains, struct fg_chain_call call, uint64_t time_ns)
{
    struct fg_hash_slot *slot = find_slot(chains, call);
    struct fg_chain_track *track;
    int error;

    if (slot == NULL)
        return 0;
    track = &chains->tracks[slot->value - 1];
    error = end_calls(chains, track, place_of(track, call), time_ns);
    release_if_empty(chains, track);
    return error;
}

static int reserve_runs(struct fg_await_chains *chains, uint32_t thread)
{
    return fg_array_reserve_zeroed(&chains->runs, &chains->nr_runs, thread + (size_t)1);
}

static int add_slice(struct fg_await_chains *chains, const struct fg_slices *slices, size_t i)
{
    uint32_t thread = slices->thread[i], depth = slices->depth[i];
    struct fg_chain_call call = {slices->call_ns[i], slices->function[i]};
    enum fg_slice_what what = slices->what[i];
    bool is_suspend = what == FG_SLICE_suspend;
    struct fg_chain_run *run;
    int error = 0;

    if (thread >= chains->nr_runs) {
        if (!is_suspend) /* most threads never suspend anything */
            return 0;
        if (reserve_runs(chains, thread) < 0)
            return -ENOMEM;
    }
    run = &chains->runs[thread];
    if (run->calls.n && !(is_suspend && depth + 1 == run->depth))
        error = settle(chains, thread, run);
    if (error)
        return error;
    if (is_suspend) {
        run->depth = depth;
        run->time_ns = slices->time_ns[i];
        return append(&run->calls, call);
    }
    return what > FG_SLICE_resume && chains->by_call.n ? end_of_call(chains, call, slices->time_ns[i]) : 0;
}

int fg_await_chains_add(struct fg_await_chains *chains, const struct fg_slices *slices, bool at_end)
{
    int error = 0;

    if (at_end) /* what is suspended at the end may be told of before other slices of the thread */
        for (size_t i = 0; i < chains->nr_runs && error == 0; i++)
            if (chains->runs[i].calls.n)
                error = settle(chains, (uint32_t)i, &chains->runs[i]);
    for (size_t i = 0; i < slices->n && error == 0; i++)
        error = add_slice(chains, slices, i);
    for (size_t i = 0; at_end && i < chains->nr_tracks && error == 0; i++)
        error = end_calls(chains, &chains->tracks[i], 0, chains->tracks[i].last_ns);
    return error;
}
