/* See instance_mark.h. */
#include "engine/tracer/instance_mark.h"

#include <errno.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/tracer/instance_symbols.h"
#include "engine/users/users.h"

#define MARK_HEAD_BYTES (sizeof(struct fg_record) + sizeof(uint64_t))

struct mark {
    uint32_t func, depth;
    const char *text;
    uint64_t bytes;
    uint64_t raw;  /* FG_MARK_RAW, or 0 */
    uint64_t time; /* ticks; 0: when it is written */
};

static size_t words_of(const struct mark *mark)
{
    return (MARK_HEAD_BYTES + mark->bytes + 7) / 8;
}

/* There is room at the cursor. */
static void write_mark(struct fg_ring_cursor *cursor, const struct mark *mark)
{
    struct fg_record *record = (struct fg_record *)cursor->pos;
    size_t words = words_of(mark);

    ((uint64_t *)record)[words - 1] = 0;
    *(uint64_t *)(record + 1) = mark->bytes | mark->raw;
    memcpy((uint8_t *)record + MARK_HEAD_BYTES, mark->text, mark->bytes);
    *record = (struct fg_record){
        .time = mark->time ? mark->time : fg_clock_now(),
        .func = mark->func,
        .info = FG_RECORD_INFO(FG_RECORD_MARK, words, mark->depth),
    };
    fg_ring_commit(cursor, words * 8);
}

/* The instance has a slot: the task has a cursor there. */
static bool put_in_slot(struct fg_instance *instance, struct fg_task *task, struct mark *mark)
{
    struct fg_task_user *user = &task->users[fg_user_of(&instance->ops)->idx];

    bool has_room;

    fg_task_hold(task);
    has_room = fg_ring_reserve(&instance->ring, task, &user->cursor, words_of(mark) * 8);
    if (has_room) {
        mark->depth = user->depth;
        write_mark(&user->cursor, mark);
    }
    fg_task_release(task);
    return has_room;
}

/* The instance has no slot: its tracer records no calls. */
static bool put_shared(struct fg_instance *instance, struct fg_task *task, const struct mark *mark)
{
    struct fg_ring_cursor cursor;

    if (mark->func && fg_ring_is_ready(&instance->ring))
        fg_instance_name_function(instance, mark->func);
    if (fg_is_killed() || !fg_ring_share_begin(&instance->ring, task, &cursor, words_of(mark) * 8))
        return false;
    write_mark(&cursor, mark);
    fg_ring_share_end(&instance->ring);
    return true;
}

static bool put_mark(struct fg_instance *instance, struct fg_task *task, struct mark *mark)
{
    if (fgraph_is_registered(&instance->ops))
        return put_in_slot(instance, task, mark);
    return put_shared(instance, task, mark);
}

/* How many bytes of a text go into one record. No character of UTF-8 is cut. */
static size_t part_of(const char *text, size_t bytes)
{
    if (bytes <= FG_MARK_MAX_BYTES)
        return bytes;
    for (size_t end = FG_MARK_MAX_BYTES; end > FG_MARK_MAX_BYTES - 4; end--)
        if (((unsigned char)text[end] & 0xC0) != 0x80) /* a character begins here */
            return end;
    return FG_MARK_MAX_BYTES;
}

static int put_parts(struct fg_instance *instance, struct fg_task *task, const struct mark *whole)
{
    struct mark part = *whole;
    uint64_t bytes = whole->bytes;

    for (;;) {
        part.bytes = part_of(part.text, bytes);
        if (!put_mark(instance, task, &part))
            return -ENOSPC;
        bytes -= part.bytes;
        if (!bytes)
            return 0;
        part.text += part.bytes;
    }
}

/* Inside the guard: an instance that is found here, and a registered user, stay until the guard is left. */
static int put_whole(int handle, struct fg_task *task, const struct mark *whole)
{
    struct fg_instance *instance = fg_instance_get(handle);
    int error;

    if (!instance)
        return -EINVAL;
    error = put_parts(instance, task, whole);
    fg_instance_put(instance);
    return error;
}

static int put_as_thread(int handle, const struct mark *whole)
{
    struct fg_task *task = fg_task_current();
    bool has_entered;
    int error;

    if (!task)
        return -ENOMEM;
    has_entered = fg_guard_enter(task); /* false: a callback of this thread holds it */
    error = put_whole(handle, task, whole);
    if (has_entered)
        fg_guard_leave(task);
    return error;
}

int fg_instance_mark(int handle, uint32_t func, const char *text, size_t bytes)
{
    return put_as_thread(handle, &(struct mark){.func = func, .text = text, .bytes = bytes});
}

int fg_instance_mark_at(int handle, uint64_t time, const char *text, size_t bytes)
{
    return put_as_thread(handle, &(struct mark){.text = text, .bytes = bytes, .time = time});
}

int fg_instance_mark_raw(int handle, const void *data, size_t bytes)
{
    if (bytes < FG_MARK_ID_BYTES || bytes > FG_MARK_MAX_BYTES)
        return -EMSGSIZE;
    return put_as_thread(handle, &(struct mark){.text = data, .bytes = bytes, .raw = FG_MARK_RAW});
}
