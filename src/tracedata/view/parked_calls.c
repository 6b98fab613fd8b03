/* See parked_calls.h. */
#include "tracedata/view/parked_calls.h"

#include <stdbool.h>
#include <stdlib.h>

#include "engine/core/array.h"

static uint64_t hash_of(uint64_t start_ns, uint32_t func, int32_t pid)
{
    return fg_hash_uint64(start_ns ^ (uint64_t)func << 40 ^ (uint64_t)(uint32_t)pid << 20);
}

static struct fg_hash_slot *find_slot(const struct fg_parked_calls *parked, uint64_t start_ns, uint32_t func,
                                      int32_t pid)
{
    struct fg_hash_slot *slot = fg_hash_first(&parked->by_key, hash_of(start_ns, func, pid));

    for (; slot; slot = fg_hash_next(&parked->by_key, slot)) {
        const struct fg_parked_call *call = &parked->calls[slot->value - 1];

        if (call->start_ns == start_ns && call->func == func && call->pid == pid)
            break;
    }
    return slot;
}

static struct fg_hash_slot *slot_of(const struct fg_parked_calls *parked, const struct fg_parked_call *call)
{
    return find_slot(parked, call->start_ns, call->func, call->pid);
}

void fg_parked_calls_free(struct fg_parked_calls *parked)
{
    free(parked->calls);
    fg_hash_clear(&parked->by_key);
    *parked = (struct fg_parked_calls){0};
}

struct fg_parked_call *fg_parked_calls_find(const struct fg_parked_calls *parked, uint64_t start_ns,
                                            uint32_t func, int32_t pid)
{
    const struct fg_hash_slot *slot = find_slot(parked, start_ns, func, pid);

    return slot ? &parked->calls[slot->value - 1] : NULL;
}

struct fg_parked_call *fg_parked_calls_add(struct fg_parked_calls *parked, uint64_t start_ns, uint32_t func,
                                           int32_t pid)
{
    struct fg_parked_call *call;

    if (fg_array_reserve(&parked->calls, &parked->capacity, parked->nr_calls + 1) < 0 ||
        fg_hash_add(&parked->by_key, hash_of(start_ns, func, pid), parked->nr_calls + 1) < 0)
        return NULL;
    call = &parked->calls[parked->nr_calls++];
    *call = (struct fg_parked_call){.start_ns = start_ns, .func = func, .pid = pid};
    return call;
}

/* The last call moves into the gap. */
void fg_parked_calls_remove(struct fg_parked_calls *parked, const struct fg_parked_call *call)
{
    size_t place = (size_t)(call - parked->calls), last = parked->nr_calls - 1;

    fg_hash_remove(&parked->by_key, slot_of(parked, call));
    if (place != last) {
        slot_of(parked, &parked->calls[last])->value = place + 1;
        parked->calls[place] = parked->calls[last];
    }
    parked->nr_calls--;
}
