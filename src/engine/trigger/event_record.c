/* See event_record.h. */
#include "engine/trigger/event_record.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/ring/field.h"
#include "engine/ring/record.h"
#include "engine/users/users.h"

#define FIXED_WORDS 2u /* the number and bytes; the caller */
#define HEAD_BYTES (sizeof(struct fg_record) + FIXED_WORDS * sizeof(uint64_t))

_Static_assert((HEAD_BYTES + FG_EVENT_MAX_BYTES) / 8 <= FG_RECORD_MAX_WORDS, "the largest image fits");

/* Copies bytes to memory that has room for whole words. Most events have few fields: a loop takes less time
 * than a call of memcpy(). */
static inline void copy_fields(uint64_t *to, const uint8_t *fields, uint32_t bytes)
{
    uint32_t n = bytes / sizeof(*to);

    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i, fields + i * sizeof(*to), sizeof(*to));
    if (bytes % sizeof(*to)) {
        to[n] = 0;
        memcpy(to + n, fields + n * sizeof(*to), bytes % sizeof(*to));
    }
}

static void write_record(struct fg_ring_cursor *cursor, uint32_t number, const struct fg_event_site *site,
                         uint32_t depth, const uint8_t *fields, uint32_t bytes)
{
    struct fg_record *record = (struct fg_record *)cursor->pos;
    uint64_t *words = (uint64_t *)(record + 1);
    uint32_t nr_words = (uint32_t)(HEAD_BYTES + bytes + 7) / 8;

    words[0] = number | (uint64_t)bytes << 32;
    words[1] = site->caller.func | (uint64_t)site->caller.place << 32;
    copy_fields(words + FIXED_WORDS, fields, bytes);
    *record = (struct fg_record){
        .time = fg_clock_now(),
        .func = site->func,
        .info = FG_RECORD_INFO(FG_RECORD_EVENT, nr_words, depth),
    };
    fg_ring_commit(cursor, (size_t)nr_words * 8);
}

/* The task's data of the instance, held for writing a record. NULL: none can be written, because the tracer
 * is being changed, which empties the ring; or in a handler of a signal. */
static struct fg_task_user *hold(struct fg_instance *instance, struct fg_task *task)
{
    if (!fgraph_is_registered(&instance->ops) || !fg_instance_hold(task, &instance->ops))
        return NULL;
    return &task->users[fg_user_of(&instance->ops)->idx];
}

void fg_event_record(struct fg_instance *instance, uint32_t number, const struct fg_event_site *site,
                     const uint8_t *fields, uint32_t bytes)
{
    struct fg_task *task = site->task;
    struct fg_task_user *user = hold(instance, task);

    if (!user)
        return;
    if (fg_ring_reserve(&instance->ring, task, &user->cursor, HEAD_BYTES + bytes + 7))
        write_record(&user->cursor, number, site, user->depth, fields, bytes);
    fg_task_release(task);
    if (instance->event_stack)
        fg_event_record_stack(instance, site);
}

/* ---- stacks */

#define MAX_STACK 64u

struct stack {
    uint32_t ids[MAX_STACK + 2]; /* 0 ends them */
    uint32_t n;
};

/* A function without a record, for lack of memory, is left out. */
static void add(struct stack *stack, uint32_t func)
{
    if (func && stack->n < MAX_STACK)
        stack->ids[stack->n++] = func;
}

/* At a return the hook knows no more than who called. */
static void read_stack(struct stack *stack, const struct fg_event_site *site)
{
    struct fg_caller callers[MAX_STACK];
    size_t n = site->regs ? fg_regs_callers(site->regs, callers, MAX_STACK) : 0;

    add(stack, site->func);
    for (size_t i = 0; i < n; i++)
        add(stack, callers[i].func);
    if (!n)
        add(stack, site->caller.func);
}

static void write_stack(struct fg_ring_cursor *cursor, const struct stack *stack, uint32_t depth)
{
    struct fg_record *record = (struct fg_record *)cursor->pos;
    uint32_t words = sizeof(*record) / 8 + stack->n / 2 + 1;

    memcpy(record + 1, stack->ids, words * 8 - sizeof(*record));
    *record = (struct fg_record){
        .time = fg_clock_now(),
        .func = stack->ids[0],
        .info = FG_RECORD_INFO(FG_RECORD_STACK, words, depth) | FG_RECORD_HAS_VALUES,
    };
    fg_ring_commit(cursor, (size_t)words * 8);
}

void fg_event_record_stack(struct fg_instance *instance, const struct fg_event_site *site)
{
    struct stack stack = {.n = 0};
    struct fg_task_user *user;

    read_stack(&stack, site);
    user = hold(instance, site->task);
    if (!user)
        return;
    if (fg_ring_reserve(&instance->ring, site->task, &user->cursor, FG_RECORD_MAX_WORDS * 8))
        write_stack(&user->cursor, &stack, user->depth);
    fg_task_release(site->task);
}
