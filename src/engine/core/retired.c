/* See retired.h. */
#include "engine/core/retired.h"

#include <stdlib.h>

#include "engine/core/root.h"
#include "engine/core/task.h"

static struct {
    struct fg_retired *queues[FG_NR_RETIRED_KINDS];
    uint64_t unpublished; /* how many things were unpublished so far */
} retired;

uint64_t fg_retired_count_one(void)
{
    return ++retired.unpublished;
}

void fg_retire(enum fg_retired_kind kind, struct fg_retired *memory)
{
    memory->at = fg_retired_count_one();
    memory->next = retired.queues[kind];
    retired.queues[kind] = memory;
}

struct fg_retired *fg_retired_latest(enum fg_retired_kind kind)
{
    return retired.queues[kind];
}

static uint64_t unpublished_now(void)
{
    uint64_t now;

    fg_engine_lock();
    now = retired.unpublished;
    fg_engine_unlock();
    return now;
}

uint64_t fg_retired_wait(void)
{
    const struct fg_process_ops *process = fg_process();
    void *held = process->wait_begin ? process->wait_begin() : NULL;
    uint64_t safe = fg_task_synchronize(unpublished_now());

    if (process->wait_end)
        process->wait_end(held);
    return safe;
}

/* Takes out of a queue what no task can hold any longer. Engine's lock held. */
static struct fg_retired *take_until(struct fg_retired **queue, uint64_t safe)
{
    struct fg_retired **at = queue, *old;

    while (*at && (*at)->at > safe)
        at = &(*at)->next;
    old = *at;
    *at = NULL;
    return old;
}

static void free_all(struct fg_retired *memory)
{
    for (struct fg_retired *next; memory; memory = next) {
        next = memory->next;
        free(memory);
    }
}

void fg_retired_free(uint64_t safe)
{
    for (int kind = 0; kind < FG_NR_RETIRED_KINDS; kind++) {
        struct fg_retired *old;

        fg_engine_lock();
        old = take_until(&retired.queues[kind], safe);
        fg_engine_unlock();
        free_all(old);
    }
}
