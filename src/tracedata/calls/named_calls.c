/* See named_calls.h. */
#include "tracedata/calls/named_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"

static uint64_t hash_of(uint64_t start_ns, uint32_t func, int32_t pid)
{
    return fg_hash_uint64(start_ns ^ (uint64_t)func << 40 ^ (uint64_t)(uint32_t)pid << 20);
}

static struct fg_hash_slot *find_slot(const struct fg_named_calls *named, uint64_t start_ns, uint32_t func,
                                      int32_t pid)
{
    struct fg_hash_slot *slot = fg_hash_first(&named->by_name, hash_of(start_ns, func, pid));

    for (; slot; slot = fg_hash_next(&named->by_name, slot)) {
        const struct fg_named_call *call = fg_named_call_at(named, slot->value - 1);

        if (call->start_ns == start_ns && call->func == func && call->pid == pid)
            break;
    }
    return slot;
}

void fg_named_calls_free(struct fg_named_calls *named)
{
    free(named->calls);
    free(named->spare);
    fg_hash_clear(&named->by_name);
    *named = (struct fg_named_calls){.stride = named->stride};
}

size_t fg_named_calls_find(const struct fg_named_calls *named, uint64_t start_ns, uint32_t func, int32_t pid)
{
    const struct fg_hash_slot *slot = find_slot(named, start_ns, func, pid);

    return slot ? slot->value : 0;
}

/* Makes room for a call, and for its place when it is free again, so that removing one cannot fail. */
static int reserve(struct fg_named_calls *named, size_t place)
{
    if (place >= named->capacity &&
        fg_array_grow(&named->calls, &named->capacity, place + 1, named->stride) < 0)
        return -ENOMEM;
    return fg_array_reserve(&named->spare, &named->spare_capacity, place + 1);
}

size_t fg_named_calls_add(struct fg_named_calls *named, uint64_t start_ns, uint32_t func, int32_t pid)
{
    size_t place = named->nr_spare ? named->spare[named->nr_spare - 1] : named->n;

    if (reserve(named, place) < 0 ||
        fg_hash_add(&named->by_name, hash_of(start_ns, func, pid), place + 1) < 0)
        return 0;
    if (named->nr_spare)
        named->nr_spare--;
    else
        named->n++;
    *fg_named_call_at(named, place) =
        (struct fg_named_call){.start_ns = start_ns, .func = func, .pid = pid, .is_used = true};
    return place + 1;
}

int fg_named_calls_rename(struct fg_named_calls *named, size_t place, uint64_t start_ns)
{
    struct fg_named_call *call = fg_named_call_at(named, place);

    if (fg_hash_add(&named->by_name, hash_of(start_ns, call->func, call->pid), place + 1) < 0)
        return -ENOMEM;
    fg_hash_remove(&named->by_name, find_slot(named, call->start_ns, call->func, call->pid));
    call->start_ns = start_ns;
    return 0;
}

void fg_named_calls_remove(struct fg_named_calls *named, size_t place)
{
    struct fg_named_call *call = fg_named_call_at(named, place);

    fg_hash_remove(&named->by_name, find_slot(named, call->start_ns, call->func, call->pid));
    call->is_used = call->is_open = false;
    named->spare[named->nr_spare++] = place;
}
