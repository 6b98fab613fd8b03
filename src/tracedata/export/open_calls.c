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

bool fg_open_calls_take(struct fg_open_calls *open, uint64_t call_ns, uint32_t func, int32_t pid,
                        struct fg_traced_call *call)
{
    struct fg_parked_call *parked = fg_parked_calls_find(&open->parked, call_ns, func, pid);
    struct fg_traced_call *held;

    if (parked == NULL)
        return false;
    held = parked->more;
    fg_parked_calls_remove(&open->parked, parked);
    *call = *held;
    free(held);
    return true;
}

int fg_open_calls_park(struct fg_open_calls *open, const struct fg_traced_call *call, int32_t pid)
{
    struct fg_traced_call *held = malloc(sizeof(*held));
    struct fg_parked_call *parked;

    if (held == NULL)
        return -ENOMEM;
    parked = fg_parked_calls_find(&open->parked, call->call_ns, call->func, pid);
    if (parked) { /* cannot be, unless the clock is too coarse to tell calls apart: the later one counts */
        fg_traced_call_clear(parked->more);
        free(parked->more);
    } else {
        parked = fg_parked_calls_add(&open->parked, call->call_ns, call->func, pid);
    }
    if (parked == NULL) {
        free(held);
        return -ENOMEM;
    }
    *held = *call;
    parked->more = held;
    return 0;
}
