/* See event_record.h. */
#include "engine/event/event_record.h"

#include <string.h>

#include "engine/core/clock.h"
#include "engine/graph/users.h"
#include "engine/ring/field.h"
#include "engine/ring/record.h"

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

void fg_event_record(struct fg_instance *instance, uint32_t number, const struct fg_event_site *site,
                     const uint8_t *fields, uint32_t bytes)
{
    struct fg_task *task = site->task;
    struct fg_task_user *user;

    if (!fgraph_is_registered(&instance->ops))
        return; /* its tracer is being changed, which empties the ring */
    user = &task->users[fg_user_of(&instance->ops)->idx];
    if (!fg_instance_hold(task, &instance->ops))
        return;
    if (fg_ring_reserve(&instance->ring, task, &user->cursor, HEAD_BYTES + bytes + 7))
        write_record(&user->cursor, number, site, user->depth, fields, bytes);
    fg_task_release(task);
}
