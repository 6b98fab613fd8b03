/* Walking down a shadow stack. */
#include "engine/graph/frame.h"

void fg_walk(const struct fg_task *task, bool (*visit)(const struct fg_frame_info *frame, void *arg),
             void *arg)
{
    for (uint64_t *top = task->top, *frame; top > task->stack; top = frame) {
        struct fg_frame_info info;

        frame = fg_newest_frame(task, top);
        if (!frame)
            return;
        info = (struct fg_frame_info){fg_frame_func(frame), frame[FRAME_FP], frame[FRAME_CALLTIME],
                                      frame[FRAME_BITMAP]};
        if (!visit(&info, arg))
            return;
    }
}
