/* The entry and the return of one call on the shadow stack. frame.h draws the frames. */
#include "engine/graph/call.h"

#include <stddef.h>

#include "engine/base/clock.h"
#include "engine/graph/contexts.h"
#include "engine/graph/data.h"
#include "engine/graph/end.h"
#include "engine/graph/marks.h"
#include "engine/graph/progress.h"
#include "engine/graph/resume.h"
#include "engine/graph/set_up.h"
#include "engine/graph/user_list.h"

/* Tells a function's users that a call was not traced: a callback made it, or the stack was full. Inside
 * the guard, so that @list cannot be freed. */
static void notify_missed(struct fg_user_list *list, struct fg_func *func, bool by_callback)
{
    for (uint32_t i = 0; i < list->n; i++) {
        struct fgraph_ops *ops = atomic_load_explicit(&list->users[i].ops, memory_order_relaxed);

        if (by_callback)
            atomic_fetch_add_explicit(&fg_user_of(ops)->nmissed, 1, memory_order_relaxed);
        if (fg_user_of(ops)->missedfunc)
            fg_user_of(ops)->missedfunc(func, ops);
    }
}

FG_COLD static void count_missed(struct fg_task *task, struct fg_func *func, const struct ftrace_regs *regs)
{
    const struct fg_arch_ops *arch = func->domain->arch;
    struct fg_user_list *list = atomic_load_explicit(&func->users, memory_order_acquire);

    if (arch->is_own_call && arch->is_own_call(regs))
        return;
    fg_local_add(&task->missed, 1);
    notify_missed(list, func, true); /* this thread is inside the guard: in the callback that made the call */
}

/* The entry of a call for which the guard is held. */
FG_COLD static bool enter_in_callback(struct fg_task *task, struct fg_func *func, uintptr_t fp,
                                      struct ftrace_regs *regs)
{
    uint64_t *top = task->top;
    bool has_users;

    if (!fg_context_enter_handler(task, regs)) {
        count_missed(task, func, regs);
        return true;
    }
    has_users = fg_enter(task, func, fp, regs);
    fg_context_leave_handler(task, top);
    return has_users;
}

/* Calls one user at an entry. True: the frame stays, for the user's return or its mark. */
static inline bool call_entry(struct ftrace_graph_ent *trace, struct fg_task *task, struct fg_user_ref *user,
                              struct ftrace_regs *regs)
{
    struct fgraph_ops *ops = atomic_load_explicit(&user->ops, memory_order_relaxed);
    uint32_t *depth = &task->users[user->idx].depth;

    if (fg_unlikely(user->flags)) {
        enum fg_verdict verdict = fg_marks_check(trace, ops, regs, user->idx, user->flags);

        if (verdict != FG_VERDICT_CALL)
            return verdict == FG_VERDICT_MARK;
    }
    trace->depth = *depth;
    regs = fg_regs_for(regs, ops->flags);
    if (user->entry_only) {
        ops->entryfunc(trace, ops, regs);
        return false;
    }
    ++*depth; /* a handler that interrupts the entry function calls one level further in */
    if (ops->entryfunc(trace, ops, regs))
        return true;
    if (fg_likely(*depth)) /* else the user has left, and another one has its slot */
        --*depth;
    return false;
}

/* A user that wants returns sees no call before the function has return hooks. The user that fprobes
 * share decides this for each fprobe (fprobe_call.c). */
static bool has_to_wait(const struct fg_user_ref *user)
{
    struct fgraph_ops *ops = atomic_load_explicit(&user->ops, memory_order_relaxed);

    return !user->entry_only && !fg_user_of(ops)->is_fprobes;
}

/* Calls all users. If a user does not want the return, its data is popped at once. If no user wants the
 * return, the frame is popped. */
FG_NOINLINE static void enter_several(struct ftrace_graph_ent *trace, struct fg_task *task,
                                      struct fg_user_list *list, struct ftrace_regs *regs)
{
    uint64_t *frame = trace->frame;
    uint64_t bitmap = 0;
    bool awaits_return_hooks = fg_func_awaits_return_hooks(trace->func);

    frame[FRAME_BITMAP] = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint64_t *top = task->top;

        if (fg_unlikely(awaits_return_hooks) && has_to_wait(&list->users[i]))
            continue;
        if (fg_likely(call_entry(trace, task, &list->users[i], regs)))
            bitmap |= task->users[list->users[i].idx].bit;
        else
            fg_pop_to(task, top, top);
    }
    frame[FRAME_BITMAP] = bitmap;
    if (!bitmap)
        fg_pop_frame(task, frame);
}

/* Calls the users of a frame that was just pushed. */
static inline void notify_users(struct fg_task *task, uint64_t *frame, struct fg_user_list *list,
                                struct ftrace_regs *regs)
{
    struct ftrace_graph_ent trace = fg_ent_of(task, frame);

    if (fg_unlikely(list->n != 1) || fg_func_awaits_return_hooks(trace.func)) {
        enter_several(&trace, task, list, regs);
        return;
    }
    frame[FRAME_BITMAP] = 1ull << list->users[0].idx;
    if (!call_entry(&trace, task, &list->users[0], regs))
        fg_pop_frame(task, frame);
}

/* The slow path when task->limit leaves no room: reaps if the task was asked to, but not in a handler's call,
 * below which are frames of interrupted callbacks. True: there is room after all. False: the call is not
 * traced. */
FG_COLD static bool find_room(struct fg_task *task, struct fg_user_list *list, struct fg_func *func)
{
    if (fg_is_killed())
        return false;
    if (fg_task_is_reap_requested(task) && task->context == FG_CONTEXT_NORMAL) {
        fg_task_reaps(task);
        fg_progress_reap(task);
    }
    if (task->top + FG_FRAME_WORDS <= task->end)
        return true;
    task->refused++;
    fg_count_overrun(task);
    notify_missed(list, func, false);
    return false;
}

bool fg_enter(struct fg_task *task, struct fg_func *func, uintptr_t fp, struct ftrace_regs *regs)
{
    struct fg_user_list *list;
    uint64_t descriptor;

    if (fg_unlikely(!fg_guard_enter(task)))
        return enter_in_callback(task, func, fp, regs);
    /* acquire: pairs with the publishing store in user_list.c */
    list = atomic_load_explicit(&func->users, memory_order_acquire);
    if (fg_unlikely(!list->n)) {
        fg_guard_leave(task);
        return false;
    }
    /* Read after the list: a thread that sees a user in the list also sees the epoch of
     * its registration. */
    descriptor = atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed);
    if (fg_likely(descriptor && (fg_stack_has_room(task) || find_room(task, list, func)))) {
        uint64_t *frame = task->top;

        if (list->gets_ready)
            fg_set_up_entry(task, func, list, regs);
        frame[FRAME_FUNC] = (uint64_t)(uintptr_t)func;
        frame[FRAME_FP] = fp;
        frame[FRAME_DESCRIPTOR] = descriptor;
        /* A signal handler that walks from `top` must find the descriptor written. */
        atomic_signal_fence(memory_order_release);
        task->top = frame + FG_FRAME_WORDS;
        frame[FRAME_CALLTIME] = frame[FRAME_START] = list->needs_times ? fg_clock_now() : 0;
        notify_users(task, frame, list, regs);
    }
    fg_guard_leave(task);
    return true;
}

/* Returns the frame of call @fp, which is not the newest. The arch never reported the returns of the
 * calls above it: these calls end now, as closed. A call that is still parked is resumed. NULL: the
 * call's entry was not traced, and nothing has changed. */
FG_COLD static uint64_t *find_frame(struct fg_task *task, uintptr_t fp, uint64_t now)
{
    struct ftrace_regs nothing = {0};
    uint64_t *frame = NULL, *top;

    for (top = task->top; top > task->stack; top = frame) {
        frame = fg_newest_frame(task, top);
        if (!frame)
            return NULL;
        if (frame[FRAME_FP] == fp)
            break;
    }
    if (top <= task->stack)
        return fg_task_is_in_signal(task) ? NULL : fg_resume_late(task, fp);
    while (task->top > top) {
        uint64_t *lost = fg_newest_frame(task, task->top);

        task->lost_returns++;
        fg_end_frame(task, lost, now, &nothing, FG_END_CLOSE);
    }
    return frame;
}

/* True if the return is most likely that of a call that was refused for lack of room. The search down the
 * whole stack is then skipped. Once there is room again, all refused calls have ended. */
static bool was_refused(struct fg_task *task)
{
    if (!task->refused)
        return false;
    if (task->top + FG_FRAME_WORDS <= task->end) {
        task->refused = 0;
        return false;
    }
    task->refused--;
    return true;
}

uint64_t *fg_top_frame_of(struct fg_task *task, uintptr_t fp, uint64_t now)
{
    uint64_t *frame;

    if (fg_likely(task->top != task->stack)) {
        frame = fg_newest_frame(task, task->top);
        if (fg_likely(frame && frame[FRAME_FP] == fp))
            return frame;
    }
    return fg_is_killed() || was_refused(task) ? NULL : find_frame(task, fp, now);
}

FG_NOINLINE static void return_frame(struct fg_task *task, uintptr_t fp, uint64_t now,
                                     struct ftrace_regs *regs, enum fg_end end)
{
    uint64_t *frame = fg_top_frame_of(task, fp, now);

    if (fg_likely(frame != NULL))
        fg_end_frame(task, frame, now, regs, end);
}

/* Returns the newest frame. NULL: there is none, or its descriptor looks broken, and
 * fg_newest_frame() must decide. */
static inline uint64_t *newest_sound_frame(const struct fg_task *task)
{
    uint64_t offset = fg_descriptor_offset(task->top[-1]);

    return fg_likely(offset >= FRAME_DESCRIPTOR && (ptrdiff_t)offset < task->top - task->stack)
               ? task->top - 1 - offset
               : NULL;
}

/* Nearly every return is simple: of the newest frame, with one user. An unchanged descriptor proves that
 * the set of users has not changed since the entry. */
static inline bool is_simple(const uint64_t *frame, uintptr_t fp)
{
    return frame && frame[FRAME_FP] == fp && fg_bitmap_is_single(frame[FRAME_BITMAP]) &&
           (frame[FRAME_DESCRIPTOR] & ~(uint64_t)FG_FRAME_PLAIN) ==
               atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed);
}

static inline uint32_t simple_idx(const uint64_t *frame)
{
    return (uint32_t)__builtin_ctzll(frame[FRAME_BITMAP]);
}

static inline struct fgraph_ops *simple_user(const uint64_t *frame)
{
    return atomic_load_explicit(&fg_root.slots[simple_idx(frame)].ops, memory_order_relaxed);
}

/* As fg_end_frame(), for a simple frame. */
static inline void return_simple(struct fg_task *task, uint64_t *frame, uint64_t now,
                                 struct ftrace_regs *regs, enum fg_end end)
{
    struct ftrace_graph_ret trace = fg_ret_of(task, frame, now, end);

    fg_call_return(&trace, task, simple_idx(frame), simple_user(frame), regs);
    fg_pop_ended(task, &trace);
}

struct fg_ending fg_return_begin(const struct fg_task *task)
{
    uint64_t *frame = newest_sound_frame(task);

    return (struct fg_ending){frame, fg_likely(!frame || fg_frame_has_times(frame)) ? fg_clock_counter() : 0};
}

/* The return of a call while the guard is held. A call that a callback made has no frame. */
FG_COLD static void return_in_callback(struct fg_task *task, uintptr_t fp, struct fg_ending ending,
                                       struct ftrace_regs *regs, enum fg_end end)
{
    uint64_t *top = task->top;

    if (!fg_context_enter_handler_of(task, fp))
        return;
    fg_return_at(task, fp, ending, regs, end);
    fg_context_leave_handler(task, top);
}

void fg_return_at(struct fg_task *task, uintptr_t fp, struct fg_ending ending, struct ftrace_regs *regs,
                  enum fg_end end)
{
    uint64_t counter = ending.counter;

    if (fg_unlikely(!fg_guard_enter(task))) {
        return_in_callback(task, fp, ending, regs, end);
        return;
    }
    if (fg_likely(is_simple(ending.frame, fp)))
        return_simple(task, ending.frame, counter ? fg_clock_then(counter) : 0, regs, end);
    else
        return_frame(task, fp, counter ? fg_clock_then(counter) : fg_clock_now(), regs, end);
    fg_guard_leave(task);
}

void fg_return(struct fg_task *task, uintptr_t fp, struct ftrace_regs *regs, enum fg_end end)
{
    fg_return_at(task, fp, fg_return_begin(task), regs, end);
}

bool fg_top_is(const struct fg_task *task, uintptr_t fp)
{
    const uint64_t *top = task->top;

    return top > task->stack && (top - 1 - fg_descriptor_offset(top[-1]))[FRAME_FP] == fp;
}
