/* What the ways of a call share: fgraph.c, plain_call.c, suspended.c. All of it inside the guard. */
#ifndef FG_FGRAPH_INTERNAL_H
#define FG_FGRAPH_INTERNAL_H

#include "engine/graph/frame.h"

static inline bool fg_stack_has_room(const struct fg_task *task)
{
    return fg_likely(task->top + FG_FRAME_WORDS <= atomic_load_explicit(&task->limit, memory_order_relaxed));
}

/* Takes off the stack what lies on it from `from` on. */
static inline void fg_pop_to(struct fg_task *task, uint64_t *from, const uint64_t *plain_top)
{
    if (fg_unlikely(task->top != plain_top))
        fg_data_drop(from, task->top);
    task->top = from;
}

/* What users reserved goes with the frame. */
static inline void fg_pop_frame(struct fg_task *task, uint64_t *frame)
{
    fg_pop_to(task, frame, frame + FG_FRAME_WORDS);
}

static inline struct ftrace_graph_ent fg_ent_of(struct fg_task *task, uint64_t *frame)
{
    return (struct ftrace_graph_ent){
        .func = fg_frame_func(frame),
        .task = task,
        .calltime = frame[FRAME_CALLTIME],
        .start = frame[FRAME_START],
        .frame = frame,
    };
}

static inline struct ftrace_graph_ret fg_ret_of(struct fg_task *task, uint64_t *frame, uint64_t rettime,
                                                enum fg_end end)
{
    return (struct ftrace_graph_ret){
        .func = fg_frame_func(frame),
        .task = task,
        .calltime = frame[FRAME_CALLTIME],
        .rettime = rettime,
        .start = frame[FRAME_START],
        .frame = frame,
        .end = end,
    };
}

/* The frame of a call, which becomes the newest: ends of calls above it that were never told are told now, as closed. NULL:
 * the call is not traced. */
uint64_t *fg_top_frame_of(struct fg_task *task, uintptr_t fp, uint64_t now);
/* Tells the users of the newest frame that its call ended, and takes it off the stack. */
void fg_end_frame(struct fg_task *task, uint64_t *frame, uint64_t rettime, struct ftrace_regs *regs,
                  enum fg_end end);
/* A suspended call that runs again without our having been told: CPython resumes a generator silently when the
 * one it delegates to ends by throw() or close(). NULL: there is none. */
uint64_t *fg_resume_late(struct fg_task *task, uintptr_t fp);

#endif
