/* The plain path: calls of a function whose only user is plain. The engine does the user's step itself,
 * and no callback runs. If it cannot, it changes nothing, and the arch calls fg_enter() or
 * fg_return_at(). plain_descriptor is 0 unless the trace clock is the processor's counter and the guard's
 * fence is light (users.c). */
#include "engine/graph/plain_call.h"

#include "engine/graph/call.h"
#include "engine/graph/profile_rows.h"

static inline bool push_profiled(struct fg_task *task, struct fg_task_user *user, struct fg_func *func,
                                 uintptr_t fp, uint64_t descriptor)
{
    uint32_t id = func->id;

    if (!fg_profile_has(&user->profile, id) || !fg_profile_begin(user->profile.rows + id))
        return false;
    user->depth++;
    fg_plain_push_frame(task, user, func, fp, descriptor);
    return true;
}

static inline bool push_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    uint32_t plain = fg_func_plain(func);
    /* Read after `plain`, as fg_enter() reads it after the list. */
    uint64_t descriptor = atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);

    if (fg_unlikely(!plain || !descriptor) || !fg_stack_has_room(task))
        return false;
    return fg_is_plain_of(plain, FG_PLAIN_RECORD)
               ? fg_plain_push_recorded(task, fg_plain_user(task, plain, FG_PLAIN_RECORD), func, fp,
                                        descriptor)
               : push_profiled(task, fg_plain_user(task, plain, FG_PLAIN_PROFILE), func, fp, descriptor);
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

static inline bool pop_profiled(const uint64_t *frame, struct fg_task_user *user, uint64_t counter)
{
    uint32_t id = fg_frame_func(frame)->id;

    if (!fg_profile_has(&user->profile, id) || fg_unlikely(frame[FRAME_CALLTIME] < user->profile.since))
        return false;
    user->depth--;
    fg_profile_end(user->profile.rows + id, counter - frame[FRAME_CALLTIME]);
    return true;
}

/* Pops a plain frame. */
static inline bool pop_plain(struct fg_task *task, uintptr_t fp, uint64_t counter)
{
    uint64_t *frame = fg_plain_top_frame(task, fp);
    uint32_t plain;
    bool is_done;

    if (!frame)
        return false;
    plain = fg_func_plain(fg_frame_func(frame));
    if (fg_unlikely(!plain))
        return false;
    is_done = fg_is_plain_of(plain, FG_PLAIN_RECORD)
                  ? fg_plain_pop_recorded(frame, fg_plain_user(task, plain, FG_PLAIN_RECORD), counter)
                  : pop_profiled(frame, fg_plain_user(task, plain, FG_PLAIN_PROFILE), counter);
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
