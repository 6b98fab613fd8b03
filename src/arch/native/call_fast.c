/* The fast path of native calls: see call.h. Compiled without vector registers, stack protectors and
 * sanitizers. */
#include "arch/native/call.h"
#include "engine/base/clock.h"
#include "engine/core/task.h"
#include "engine/graph/plain_call.h"
#include "engine/graph/user_list.h"

static inline bool is_own(uintptr_t address)
{
    return fg_unlikely(address - fg_native_own_text.begin < fg_native_own_text.bytes);
}

static inline struct fg_task_user *user_of(struct fg_task *task, uint32_t plain)
{
    return fg_plain_user(task, plain & ~FG_PLAIN_BELOW, FG_PLAIN_RECORD);
}

static inline bool push_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    uint32_t plain = fg_func_plain(func);
    /* Read after `plain`, as fg_enter() reads it after the list. */
    uint64_t descriptor = atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);

    return fg_likely(plain && descriptor && fg_is_plain_of(plain, FG_PLAIN_RECORD)) &&
           !fg_plain_is_outside(task, plain) && fg_stack_has_room(task) &&
           fg_plain_push_recorded(task, user_of(task, plain), func, fp, descriptor);
}

static inline bool enter_plain(struct fg_task *task, struct fg_func *func, uintptr_t fp)
{
    bool is_done;

    if (fg_unlikely(!fg_guard_enter_short(task)))
        return false;
    is_done = push_plain(task, func, fp);
    fg_guard_leave_short(task);
    return is_done;
}

/* True if the thread's newest call can have ended unseen. */
static inline bool is_out_of_order(const struct fg_task *task, const uintptr_t *stack)
{
    return task->native.newest && fg_native_is_passed(task->native.newest, stack);
}

/* A function may stay hooked for a while after its last user has left. After the kill switch was thrown, the
 * slow path takes all hooks off. A handler of the fast path may have made the call. */
static inline struct fg_native_entry *slow_if_traced(const struct fg_task *task, struct fg_func *func)
{
    return (fg_func_has_users(func) || fg_is_killed()) && !(task && fg_task_is_in_native(task))
               ? FG_NATIVE_SLOW
               : FG_NATIVE_UNTRACED;
}

/* The thread has no task, or hides. */
FG_COLD static struct fg_native_entry *enter_without_task(struct fg_func *func)
{
    return fg_native_holds ? FG_NATIVE_UNTRACED : slow_if_traced(NULL, func);
}

/* While plain calls are off, the slow path decides. */
static inline bool is_outside(struct fg_task *task, struct fg_func *func)
{
    return fg_unlikely(fg_plain_is_outside(task, fg_func_plain(func))) &&
           atomic_load_explicit(&fg_root.plain_descriptor, memory_order_relaxed);
}

struct fg_native_entry *fg_native_enter(const struct fg_native_site *site, const uintptr_t *stack,
                                        const struct fg_machine_registers *registers)
{
    struct fg_task *task = fg_native_task;
    struct fg_func *func = site->func;
    struct fg_native_entry *entry;

    if (is_own(*stack))
        return FG_NATIVE_UNTRACED;
    if (fg_unlikely(!task))
        return enter_without_task(func);
    if (fg_unlikely(is_out_of_order(task, stack)))
        return slow_if_traced(task, func);
    if (fg_func_probed(func))
        return fg_native_enter_probed(func, stack, registers, task);
    if (is_outside(task, func))
        return FG_NATIVE_UNTRACED;
    entry = fg_native_entry_take(&task->native);
    if (fg_unlikely(!entry))
        return slow_if_traced(task, func);
    if (fg_unlikely(!enter_plain(task, func, (uintptr_t)entry))) {
        fg_native_entry_give_back(&task->native, entry);
        return slow_if_traced(task, func);
    }
    fg_native_entry_begin(&task->native, entry, stack);
    return entry;
}

/* After the kill switch was thrown, fg_native_place() takes all hooks off. */
bool fg_native_place_has_users(const struct fg_native_site *site)
{
    return !fg_native_holds && slow_if_traced(fg_task_self, site->func) == FG_NATIVE_SLOW;
}

static inline bool pop_plain(struct fg_task *task, uintptr_t fp, uint64_t counter)
{
    uint64_t *frame = fg_plain_top_frame(task, fp);
    uint32_t plain = frame ? fg_func_plain(fg_frame_func(frame)) : 0;

    if (fg_unlikely(!plain || !fg_is_plain_of(plain, FG_PLAIN_RECORD)) ||
        !fg_plain_pop_recorded(frame, user_of(task, plain), counter))
        return false;
    task->top = frame;
    return true;
}

static inline bool return_plain(struct fg_task *task, uintptr_t fp, uint64_t counter)
{
    bool is_done;

    /* Only this thread writes this word, so reading it needs no guard. */
    if (!(task->top[-1] & FG_FRAME_PLAIN) || fg_unlikely(!fg_guard_enter_short(task)))
        return false;
    is_done = pop_plain(task, fp, counter);
    fg_guard_leave_short(task);
    return is_done;
}

uint64_t fg_native_leave(struct fg_native_entry *entry, const struct fg_machine_registers *registers)
{
    struct fg_task *task = fg_native_task;
    uint64_t counter;

    if (fg_unlikely(!task || task->native.newest != entry))
        return fg_clock_counter() | 1;
    /* Before the clock is read: no fprobe needs a time. */
    if (fg_is_data(task->top[-1]))
        return fg_native_leave_probed(entry, registers, task);
    counter = fg_clock_counter();
    if (!return_plain(task, (uintptr_t)entry, counter))
        return counter | !counter;
    fg_native_entry_end(&task->native, entry);
    return 0;
}
