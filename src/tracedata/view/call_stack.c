/* See call_stack.h. */
#include "tracedata/view/call_stack.h"

#include <stdlib.h>

#include "engine/core/array.h"

void fg_call_stack_free(struct fg_call_stack *stack)
{
    for (size_t i = 0; i < stack->capacity; i++)
        fg_text_free(&stack->levels[i].call.arguments);
    free(stack->levels);
    *stack = (struct fg_call_stack){0};
}

int fg_call_stack_reserve(struct fg_call_stack *stack, uint32_t depth)
{
    return fg_array_reserve_zeroed(&stack->levels, &stack->capacity, depth + (size_t)1);
}

void fg_suspended_calls_free(struct fg_suspended_calls *suspended)
{
    for (size_t i = 0; i < suspended->n; i++)
        fg_text_free(&suspended->calls[i].call.arguments);
    free(suspended->calls);
    free(suspended->spare);
    fg_parked_calls_free(&suspended->by_start);
    *suspended = (struct fg_suspended_calls){0};
}

size_t fg_suspended_find(const struct fg_suspended_calls *suspended, uint64_t start_ns, uint32_t func,
                         int32_t pid)
{
    const struct fg_parked_call *found = fg_parked_calls_find(&suspended->by_start, start_ns, func, pid);

    return found ? found->place + 1 : 0;
}

size_t fg_suspended_add(struct fg_suspended_calls *suspended, struct fg_call *call, uint64_t start_ns,
                        int32_t pid)
{
    struct fg_parked_call *parked;
    size_t place = suspended->nr_spare ? suspended->spare[suspended->nr_spare - 1] : suspended->n;

    if (fg_array_reserve(&suspended->calls, &suspended->capacity, place + 1) < 0)
        return 0;
    parked = fg_parked_calls_add(&suspended->by_start, start_ns, call->func, pid);
    if (!parked)
        return 0;
    parked->place = place;
    if (suspended->nr_spare)
        suspended->nr_spare--;
    else
        suspended->n++;
    suspended->calls[place] =
        (struct fg_suspended_call){.call = *call, .is_used = true, .start_ns = start_ns, .pid = pid};
    call->arguments = (struct fg_text){0};
    return place + 1;
}

/* A place that finds no room in `spare` stays unused. */
void fg_suspended_remove(struct fg_suspended_calls *suspended, size_t place)
{
    struct fg_suspended_call *call = &suspended->calls[place];
    const struct fg_parked_call *parked =
        fg_parked_calls_find(&suspended->by_start, call->start_ns, call->call.func, call->pid);

    if (parked)
        fg_parked_calls_remove(&suspended->by_start, parked);
    fg_text_free(&call->call.arguments);
    *call = (struct fg_suspended_call){0};
    if (fg_array_reserve(&suspended->spare, &suspended->spare_capacity, suspended->nr_spare + 1) == 0)
        suspended->spare[suspended->nr_spare++] = place;
}
