/* The table of suspended calls: as large as the calls suspended at one time need, however many there were. */
#include "tracedata/view/parked_calls.h"

#include <stdlib.h>

static size_t home(const struct fg_parked_calls *calls, uint64_t start_ns, uint32_t func, int32_t pid)
{
    uint64_t hash =
        (start_ns ^ (uint64_t)func << 40 ^ (uint64_t)(uint32_t)pid << 20) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 20) & (calls->capacity - 1);
}

static size_t next(const struct fg_parked_calls *calls, size_t slot)
{
    return (slot + 1) & (calls->capacity - 1);
}

/* The slot of the call, or the free one where it would go. */
static size_t probe(const struct fg_parked_calls *calls, uint64_t start_ns, uint32_t func, int32_t pid)
{
    size_t slot = home(calls, start_ns, func, pid);
    for (;; slot = next(calls, slot)) {
        const struct fg_parked_call *call = &calls->slots[slot];
        if (!call->used || (call->start_ns == start_ns && call->func == func && call->pid == pid))
            return slot;
    }
}

void fg_parked_calls_free(struct fg_parked_calls *calls)
{
    free(calls->slots);
    *calls = (struct fg_parked_calls){0};
}

struct fg_parked_call *fg_parked_calls_find(const struct fg_parked_calls *calls, uint64_t start_ns,
                                            uint32_t func, int32_t pid)
{
    if (!calls->count)
        return NULL;
    struct fg_parked_call *call = &calls->slots[probe(calls, start_ns, func, pid)];
    return call->used ? call : NULL;
}

static bool grow(struct fg_parked_calls *calls)
{
    struct fg_parked_calls larger = {.capacity = calls->capacity ? 2 * calls->capacity : 256,
                                     .count = calls->count};
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < calls->capacity; i++) {
        const struct fg_parked_call *call = &calls->slots[i];
        if (call->used)
            larger.slots[probe(&larger, call->start_ns, call->func, call->pid)] = *call;
    }
    free(calls->slots);
    *calls = larger;
    return true;
}

struct fg_parked_call *fg_parked_calls_add(struct fg_parked_calls *calls, uint64_t start_ns, uint32_t func,
                                           int32_t pid)
{
    if (2 * (calls->count + 1) > calls->capacity && !grow(calls))
        return NULL;
    struct fg_parked_call *call = &calls->slots[probe(calls, start_ns, func, pid)];
    if (!call->used) {
        *call = (struct fg_parked_call){.start_ns = start_ns, .func = func, .pid = pid, .used = true};
        calls->count++;
    }
    return call;
}

void fg_parked_calls_remove(struct fg_parked_calls *calls, struct fg_parked_call *call)
{
    size_t mask = calls->capacity - 1, hole = (size_t)(call - calls->slots);
    calls->count--;
    /* Close the gap: whatever behind it could no longer be reached from its home moves into it. */
    for (size_t slot = next(calls, hole); calls->slots[slot].used; slot = next(calls, slot)) {
        const struct fg_parked_call *later = &calls->slots[slot];
        size_t distance = (slot - home(calls, later->start_ns, later->func, later->pid)) & mask;
        if (distance >= ((slot - hole) & mask)) {
            calls->slots[hole] = *later;
            hole = slot;
        }
    }
    calls->slots[hole].used = false;
}
