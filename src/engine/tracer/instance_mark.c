/* See instance_mark.h. */
#include "engine/tracer/instance_mark.h"

#include <errno.h>
#include <string.h>

#include "engine/core/clock.h"
#include "engine/graph/users.h"
#include "engine/tracer/instance.h"

#define MARK_HEAD_BYTES (sizeof(struct fg_record) + sizeof(uint64_t))

static bool put_mark(struct fg_instance *instance, struct fg_task *task, uint32_t func, const char *text,
                     uint64_t bytes)
{
    struct fg_task_user *user = &task->users[fg_user_of(&instance->ops)->idx];
    struct fg_ring_cursor *cursor = &user->cursor;
    size_t words = (MARK_HEAD_BYTES + bytes + 7) / 8;
    struct fg_record *record = fg_ring_reserve(&instance->ring, task, cursor, words * 8);

    if (!record)
        return false;
    ((uint64_t *)record)[words - 1] = 0;
    memcpy(record + 1, &bytes, sizeof(bytes));
    memcpy((uint8_t *)record + MARK_HEAD_BYTES, text, bytes);
    *record = (struct fg_record){
        .time = fg_clock_now(),
        .func = func,
        .info = FG_RECORD_INFO(FG_RECORD_MARK, words, user->depth),
    };
    fg_ring_commit(cursor, words * 8);
    return true;
}

/* Inside the guard: an instance that is found here, and a registered user, stay until the guard is left. */
static int put_marks(int handle, struct fg_task *task, uint32_t func, const char *text, size_t bytes)
{
    struct fg_instance *instance = fg_instance_get(handle);
    int error = 0;

    if (!instance)
        return -EINVAL;
    while (!error) {
        size_t part = bytes < FG_MARK_MAX_BYTES ? bytes : FG_MARK_MAX_BYTES;

        if (!fgraph_is_registered(&instance->ops) || !put_mark(instance, task, func, text, part))
            error = -ENOSPC;
        text += part;
        bytes -= part;
        if (!bytes)
            break;
    }
    fg_instance_put(instance);
    return error;
}

int fg_instance_mark(int handle, uint32_t func, const char *text, size_t bytes)
{
    struct fg_task *task = fg_task_current();
    bool has_entered;
    int error;

    if (!task)
        return -ENOMEM;
    has_entered = fg_guard_enter(task); /* false: a callback of this thread holds it */
    error = put_marks(handle, task, func, text, bytes);
    if (has_entered)
        fg_guard_leave(task);
    return error;
}
