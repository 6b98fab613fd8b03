/* The steps of the plain path that write records, for the hooks that contain them (plain_call.c has the
 * rest). They call nothing, and need no vector registers. */
#ifndef FG_PLAIN_CALL_H
#define FG_PLAIN_CALL_H

#include "engine/base/clock.h"
#include "engine/graph/frame.h"
#include "engine/graph/user.h"
#include "engine/writer/plain_record.h"

static inline bool fg_is_plain_of(uint32_t plain, enum fg_plain_kind kind)
{
    return (plain & FG_PLAIN_PROFILE) == kind;
}

/* `kind` is a constant in all callers: the subtraction costs nothing. */
static inline struct fg_task_user *fg_plain_user(struct fg_task *task, uint32_t plain,
                                                 enum fg_plain_kind kind)
{
    _Static_assert(_Alignof(struct fg_task_user) > (FG_PLAIN_PROFILE | FG_PLAIN_BELOW),
                   "where a user is kept leaves room for its kind");
    return (struct fg_task_user *)((char *)task + plain - kind);
}

/* True if the function's only user does not see a call that begins now, as it is not below one of the user's
 * graph set. Nothing is held: while users change, it may be that of another one. */
static inline bool fg_plain_is_outside(struct fg_task *task, uint32_t plain)
{
    const struct fg_task_user *user;

    if (fg_likely(!(plain & FG_PLAIN_BELOW)))
        return false;
    user = fg_plain_user(task, plain & ~(FG_PLAIN_BELOW | FG_PLAIN_PROFILE), FG_PLAIN_RECORD);
    return !user->depth && !user->rooted;
}

static inline uint64_t *fg_plain_push_frame(struct fg_task *task, const struct fg_task_user *user,
                                            struct fg_func *func, uintptr_t fp, uint64_t descriptor)
{
    uint64_t *frame = task->top;

    frame[FRAME_FUNC] = (uint64_t)(uintptr_t)func;
    frame[FRAME_FP] = fp;
    frame[FRAME_BITMAP] = user->bit;
    frame[FRAME_DESCRIPTOR] = descriptor;
    atomic_signal_fence(memory_order_release);
    task->top = frame + FG_FRAME_WORDS;
    frame[FRAME_CALLTIME] = frame[FRAME_START] = fg_clock_counter();
    return frame;
}

static inline bool fg_plain_push_recorded(struct fg_task *task, struct fg_task_user *user,
                                          struct fg_func *func, uintptr_t fp, uint64_t descriptor)
{
    uint8_t *pos = user->cursor.pos;
    const uint64_t *frame;

    if (!fg_ring_has_room(&user->cursor, FG_PLAIN_ENTRY_BYTES))
        return false;
    frame = fg_plain_push_frame(task, user, func, fp, descriptor);
    fg_plain_entry(&user->cursor, pos, func->id, user->depth++, frame[FRAME_CALLTIME]);
    return true;
}

static inline bool fg_plain_pop_recorded(const uint64_t *frame, struct fg_task_user *user, uint64_t counter)
{
    if (!fg_ring_has_room(&user->cursor, FG_PLAIN_RETURN_BYTES))
        return false;
    fg_plain_return(&user->cursor, user->cursor.pos, fg_frame_func(frame)->id, --user->depth,
                    frame[FRAME_CALLTIME], counter);
    return true;
}

/* The newest frame if it is call @fp's, and a plain one of now: its descriptor equals plain_descriptor,
 * so the set of users has not changed since the entry. NULL: it is not. If the function's calls can
 * still be plain, its only user is the one that saw the entry. Inside the guard. */
static inline uint64_t *fg_plain_top_frame(struct fg_task *task, uintptr_t fp)
{
    uint64_t *frame = task->top - FG_FRAME_WORDS;
    uint64_t descriptor = atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);

    return fg_unlikely(frame[FRAME_FP] != fp || frame[FRAME_DESCRIPTOR] != descriptor) ? NULL : frame;
}

#endif
