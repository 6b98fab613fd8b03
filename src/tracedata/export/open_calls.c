/* See open_calls.h. */
#include "tracedata/export/open_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/core/array.h"

void fg_traced_call_clear(struct fg_traced_call *call)
{
    free(call->values);
    *call = (struct fg_traced_call){.callees_ns = call->callees_ns};
}

static void free_parked(struct fg_parked_calls *parked)
{
    for (size_t i = 0; i < parked->nr_calls; i++) {
        struct fg_traced_call *call = parked->calls[i].more;

        if (call)
            fg_traced_call_clear(call);
        free(call);
    }
    fg_parked_calls_free(parked);
}

void fg_open_calls_free(struct fg_open_calls *open)
{
    for (size_t i = 0; i < open->nr_threads; i++) {
        struct fg_call_thread *thread = &open->threads[i];

        for (size_t depth = 0; depth < thread->capacity; depth++)
            fg_traced_call_clear(&thread->calls[depth]);
        free(thread->calls);
    }
    free(open->threads);
    free_parked(&open->parked);
    *open = (struct fg_open_calls){0};
}

struct fg_call_thread *fg_open_calls_thread(struct fg_open_calls *open, uint32_t number, uint32_t depth)
{
    struct fg_call_thread *thread;

    if (number >= open->nr_threads) {
        if (fg_array_reserve_zeroed(&open->threads, &open->capacity, number + (size_t)1) < 0)
            return NULL;
        open->nr_threads = number + (size_t)1;
    }
    thread = &open->threads[number];
    if (fg_array_reserve_zeroed(&thread->calls, &thread->capacity, depth + (size_t)1) < 0)
        return NULL;
    return thread;
}

/* The table of suspended calls keeps those that go on, too: `more` is NULL, and `place` says where. */
static size_t place_number(struct fg_call_place place)
{
    return (size_t)place.thread << 32 | place.depth;
}

bool fg_open_calls_take(struct fg_open_calls *open, uint64_t call_ns, uint32_t func, int32_t pid,
                        struct fg_call_place place, struct fg_traced_call *call)
{
    struct fg_parked_call *parked = fg_parked_calls_find(&open->parked, call_ns, func, pid);
    struct fg_traced_call *pending = parked ? parked->more : NULL;

    if (pending == NULL)
        return false;
    parked->more = NULL;
    parked->place = place_number(place);
    *call = *pending;
    free(pending);
    return true;
}

struct fg_traced_call *fg_open_calls_move(struct fg_open_calls *open, uint64_t call_ns, uint32_t func,
                                          int32_t pid, struct fg_call_place place, struct fg_call_place *from)
{
    struct fg_parked_call *parked = fg_parked_calls_find(&open->parked, call_ns, func, pid);
    struct fg_traced_call *call;

    if (parked == NULL || parked->more)
        return NULL;
    *from = (struct fg_call_place){(uint32_t)(parked->place >> 32), (uint32_t)parked->place};
    parked->place = place_number(place);
    call = &open->threads[from->thread].calls[from->depth];
    return call->is_open && call->call_ns == call_ns && call->func == func ? call : NULL;
}

int fg_open_calls_park(struct fg_open_calls *open, const struct fg_traced_call *call, int32_t pid)
{
    struct fg_traced_call *pending = malloc(sizeof(*pending));
    struct fg_parked_call *parked;

    if (pending == NULL)
        return -ENOMEM;
    parked = fg_parked_calls_find(&open->parked, call->call_ns, call->func, pid);
    if (parked == NULL)
        parked = fg_parked_calls_add(&open->parked, call->call_ns, call->func, pid);
    if (parked == NULL) {
        free(pending);
        return -ENOMEM;
    }
    if (parked->more) { /* the clock is too coarse to tell two calls apart: the later one counts */
        fg_traced_call_clear(parked->more);
        free(parked->more);
    }
    *pending = *call;
    pending->pid = pid;
    pending->was_suspended = true;
    parked->more = pending;
    return 0;
}

void fg_open_calls_forget(struct fg_open_calls *open, const struct fg_traced_call *call)
{
    const struct fg_parked_call *parked;

    if (!call->was_suspended)
        return;
    parked = fg_parked_calls_find(&open->parked, call->call_ns, call->func, call->pid);
    if (parked && !parked->more)
        fg_parked_calls_remove(&open->parked, parked);
}
