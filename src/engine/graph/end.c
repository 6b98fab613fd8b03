/* See end.h. */
#include "engine/graph/end.h"

#include "engine/base/clock.h"
#include "engine/core/regs.h"
#include "engine/graph/user_list.h"

static inline void call_slot(struct ftrace_graph_ret *trace, struct fg_task *task, uint32_t idx,
                             struct ftrace_regs *regs)
{
    struct fgraph_ops *ops = fg_frame_user(trace->frame, idx);

    if (fg_likely(ops != NULL)) /* else it has left */
        fg_call_return(trace, task, idx, ops, regs);
}

/* Returns the function's list, if all of the frame's users are in it and the set of users has not changed
 * since the entry. The list is in order of registration. */
static inline const struct fg_user_list *list_of_frame(const uint64_t *frame)
{
    const struct fg_user_list *list =
        atomic_load_explicit(&fg_frame_func(frame)->users, memory_order_acquire);

    return fg_likely(frame[FRAME_DESCRIPTOR] ==
                         atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed) &&
                     !(frame[FRAME_BITMAP] & ~list->bits))
               ? list
               : NULL;
}

/* A callback may unregister users that are still to be called, so each is looked up in its slot. */
static inline void return_by_list(struct ftrace_graph_ret *trace, struct fg_task *task, uint64_t bitmap,
                                  const struct fg_user_list *list, struct ftrace_regs *regs)
{
    for (uint32_t i = list->n; i-- > 0;) {
        uint32_t idx = list->users[i].idx;

        if (fg_likely(bitmap & task->users[idx].bit))
            call_slot(trace, task, idx, regs);
    }
}

/* Stores in @order the slots of @bitmap whose users have not left since @epoch, the latest registered
 * first. Returns how many. */
static uint32_t newest_first(uint64_t bitmap, uint64_t epoch, uint32_t order[FG_MAX_USERS])
{
    uint64_t generations[FG_MAX_USERS];
    uint32_t n = 0;

    /* From the highest slot down: slots are first given out in rising order, so most users come in
     * the right order. */
    for (uint32_t idx; bitmap; bitmap &= ~(1ull << idx)) {
        uint32_t at = n;
        uint64_t generation;

        idx = 63 - (uint32_t)__builtin_clzll(bitmap);
        generation = atomic_load_explicit(&fg_root.slots[idx].generation, memory_order_acquire);
        if (generation > epoch)
            continue;
        for (; at && generations[at - 1] < generation; at--) {
            generations[at] = generations[at - 1];
            order[at] = order[at - 1];
        }
        generations[at] = generation;
        order[at] = idx;
        n++;
    }
    return n;
}

/* Slots are reused in any order, so the users' generations give the order of registration. */
FG_NOINLINE static void return_by_slot(struct ftrace_graph_ret *trace, struct fg_task *task, uint64_t bitmap,
                                       struct ftrace_regs *regs)
{
    uint32_t order[FG_MAX_USERS];
    uint32_t n = newest_first(bitmap, fg_frame_epoch(trace->frame), order);

    for (uint32_t i = 0; i < n; i++)
        call_slot(trace, task, order[i], regs);
}

/* Calls the users in reverse order of their entries, which is the order of registration. */
FG_NOINLINE static void return_several(struct ftrace_graph_ret *trace, struct fg_task *task, uint64_t bitmap,
                                       struct ftrace_regs *regs)
{
    const struct fg_user_list *list = list_of_frame(trace->frame);

    if (fg_likely(list != NULL))
        return_by_list(trace, task, bitmap, list, regs);
    else
        return_by_slot(trace, task, bitmap, regs);
}

void fg_end_frame(struct fg_task *task, uint64_t *frame, uint64_t rettime, struct ftrace_regs *regs,
                  enum fg_end end)
{
    uint64_t bitmap = frame[FRAME_BITMAP];
    struct ftrace_graph_ret trace = fg_ret_of(task, frame, rettime, end);

    if (fg_likely(fg_bitmap_is_single(bitmap)))
        call_slot(&trace, task, (uint32_t)__builtin_ctzll(bitmap), regs);
    else
        return_several(&trace, task, bitmap, regs);
    fg_pop_ended(task, &trace);
}

static void unwind_frames(struct fg_task *task)
{
    struct ftrace_regs nothing = {0};
    uint64_t now = fg_clock_now();

    while (task->top > task->stack && !fg_is_killed()) {
        uint64_t *frame = fg_newest_frame(task, task->top);

        if (!frame)
            break;
        fg_end_frame(task, frame, now, &nothing, FG_END_CLOSE);
    }
}

void fg_task_unwind(struct fg_task *task)
{
    /* A thread that ends inside a callback leaves its frames as they are. */
    if (fg_guard_enter(task)) {
        unwind_frames(task);
        fg_guard_leave(task);
    }
}
