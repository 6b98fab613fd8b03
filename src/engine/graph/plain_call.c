/* The plain path: calls of a function whose only user is plain. The engine does the user's step itself,
 * and no callback runs. If it cannot, it changes nothing, and the arch calls fg_enter() or
 * fg_return_at(). plain_descriptor is 0 unless the trace clock is the processor's counter and the guard's
 * fence is light (users.c). */
#include "engine/core/clock.h"
#include "engine/graph/call.h"
#include "engine/graph/frame.h"
#include "engine/graph/profile_rows.h"
#include "engine/graph/user.h"
#include "engine/writer/plain_record.h"

static inline bool is_plain_of(uint32_t plain, enum fg_plain_kind kind)
{
    return (plain & FG_PLAIN_PROFILE) == kind;
}

/* `kind` is a constant in all callers: the subtraction costs nothing. */
static inline struct fg_task_user *plain_user(struct fg_task *task, uint32_t plain, enum fg_plain_kind kind)
{
    _Static_assert(_Alignof(struct fg_task_user) > FG_PLAIN_PROFILE,
                   "where a user is kept leaves room for its kind");
    return (struct fg_task_user *)((char *)task + plain - kind);
}

static inline uint64_t *push_plain_frame(struct fg_task *task, const struct fg_task_user *user,
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

static inline bool push_recorded(struct fg_task *task, struct fg_task_user *user, struct fg_func *func,
                                 uintptr_t fp, uint64_t descriptor)
{
    uint8_t *pos = user->cursor.pos;
    const uint64_t *frame;

    if (!fg_ring_has_room(&user->cursor, FG_PLAIN_ENTRY_BYTES))
        return false;
    frame = push_plain_frame(task, user, func, fp, descriptor);
    fg_plain_entry(&user->cursor, pos, func->id, user->depth++, frame[FRAME_CALLTIME]);
    return true;
}

static inline bool push_profiled(struct fg_task *task, struct fg_task_user *user, struct fg_func *func,
                                 uintptr_t fp, uint64_t descriptor)
{
    uint32_t id = func->id;

    if (!fg_profile_has(&user->profile, id) || !fg_profile_begin(user->profile.rows + id))
        return false;
    user->depth++;
    push_plain_frame(task, user, func, fp, descriptor);
    return true;
}

static inline bool push_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    uint32_t plain = fg_func_plain(func);
    /* Read after `plain`, as fg_enter() reads it after the list. */
    uint64_t descriptor = atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);

    if (fg_unlikely(!plain || !descriptor) || !fg_stack_has_room(task))
        return false;
    return is_plain_of(plain, FG_PLAIN_RECORD)
               ? push_recorded(task, plain_user(task, plain, FG_PLAIN_RECORD), func, fp, descriptor)
               : push_profiled(task, plain_user(task, plain, FG_PLAIN_PROFILE), func, fp, descriptor);
}

bool fg_enter_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    bool is_done;

    if (fg_unlikely(!fg_guard_enter_short(task)))
        return false;
    is_done = push_plain(task, func, fp);
    fg_guard_leave_short(task);
    return is_done;
}

static inline bool pop_recorded(const uint64_t *frame, struct fg_task_user *user, uint64_t counter)
{
    if (!fg_ring_has_room(&user->cursor, FG_PLAIN_RETURN_BYTES))
        return false;
    fg_plain_return(&user->cursor, user->cursor.pos, fg_frame_func(frame)->id, --user->depth,
                    frame[FRAME_CALLTIME], counter);
    return true;
}

static inline bool pop_profiled(const uint64_t *frame, struct fg_task_user *user, uint64_t counter)
{
    uint32_t id = fg_frame_func(frame)->id;

    if (!fg_profile_has(&user->profile, id) || fg_unlikely(frame[FRAME_CALLTIME] < user->profile.since))
        return false;
    user->depth--;
    fg_profile_end(user->profile.rows + id, counter - frame[FRAME_CALLTIME]);
    return true;
}

/* Pops a plain frame. Its descriptor equals plain_descriptor, so the set of users has not changed since
 * the entry. If the function's calls can still be plain, its only user is the one that saw the entry. */
static inline bool pop_plain(struct fg_task *task, uintptr_t fp, uint64_t counter)
{
    uint64_t *frame = task->top - FG_FRAME_WORDS;
    uint64_t descriptor = atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);
    uint32_t plain;
    bool is_done;

    if (fg_unlikely(frame[FRAME_FP] != fp || frame[FRAME_DESCRIPTOR] != descriptor))
        return false;
    plain = fg_func_plain(fg_frame_func(frame));
    if (fg_unlikely(!plain))
        return false;
    is_done = is_plain_of(plain, FG_PLAIN_RECORD)
                  ? pop_recorded(frame, plain_user(task, plain, FG_PLAIN_RECORD), counter)
                  : pop_profiled(frame, plain_user(task, plain, FG_PLAIN_PROFILE), counter);
    if (is_done)
        task->top = frame;
    return is_done;
}

bool fg_return_plain(struct fg_task *task, uintptr_t fp, uint64_t counter)
{
    bool is_done;

    /* Only this thread writes this word, so reading it needs no guard. */
    if (!(task->top[-1] & FG_FRAME_PLAIN) || fg_unlikely(!fg_guard_enter_short(task)))
        return false;
    is_done = pop_plain(task, fp, counter);
    fg_guard_leave_short(task);
    return is_done;
}
