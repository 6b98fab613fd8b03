/* See resume.h. */
#include "engine/graph/resume.h"

#include <string.h>

#include "engine/base/clock.h"
#include "engine/graph/data.h"
#include "engine/graph/end.h"
#include "engine/graph/marks.h"
#include "engine/graph/set_up.h"

void fg_resume_users(struct fg_task *task, uint64_t *frame, struct ftrace_regs *regs)
{
    struct ftrace_graph_ent trace = fg_ent_of(task, frame);

    for (uint64_t left = frame[FRAME_BITMAP]; left; left &= left - 1) {
        uint32_t idx = (uint32_t)__builtin_ctzll(left);
        struct fgraph_ops *ops = fg_frame_user(frame, idx);

        if (!ops || fg_marks_begin(task, idx))
            continue;
        trace.depth = task->users[idx].depth++;
        if (ops->resumefunc)
            ops->resumefunc(&trace, ops, regs);
    }
}

uint64_t *fg_push_parked(struct fg_task *task, const struct fg_parked *parked)
{
    uint64_t *frame = task->top;

    if (frame + parked->size_words > task->end) {
        fg_count_overrun(task);
        return NULL;
    }
    memcpy(frame, parked->words, parked->size_words * sizeof(uint64_t));
    if (fg_frame_has_times(frame)) {
        fg_set_up_resume(task, frame);
        frame[FRAME_CALLTIME] = fg_clock_now();
    }
    atomic_signal_fence(memory_order_release);
    task->top = frame + parked->size_words;
    return frame;
}

void fg_lose_parked(struct fg_task *task, struct fg_parked *parked)
{
    task->lost_returns++;
    fg_data_drop(parked->words, parked->words + parked->size_words);
}

uint64_t *fg_unpark(struct fg_task *task, uintptr_t fp)
{
    struct fg_parked *parked = fg_parked_take(fp);
    uint64_t *frame;

    if (!parked)
        return NULL;
    frame = fg_push_parked(task, parked);
    if (!frame && !fg_parked_put(fp, parked->words, parked->size_words))
        fg_lose_parked(task, parked);
    fg_parked_free(parked);
    return frame;
}

uint64_t *fg_resume_late(struct fg_task *task, uintptr_t fp)
{
    struct ftrace_regs nothing = {0};
    uint64_t *frame = fg_parked_count() ? fg_unpark(task, fp) : NULL;

    if (frame)
        fg_resume_users(task, frame, &nothing);
    return frame;
}
