/* See stack.h. */
#include "inject/unwind/stack.h"

#include <errno.h>
#include <string.h>

#include "inject/unwind/search.h"

enum { MAX_FRAMES = 1 << 15 }; /* this bounds how long a thread is stopped: to a few milliseconds */

static struct fg_frame first_frame(const struct user_regs_struct *regs)
{
    const uint64_t values[FG_NR_REGISTERS] = {
        regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi, regs->rbp, regs->rsp, regs->r8,
        regs->r9,  regs->r10, regs->r11, regs->r12, regs->r13, regs->r14, regs->r15, regs->rip,
    };
    struct fg_frame frame = {.registers.known = (1U << FG_NR_REGISTERS) - 1};

    memcpy(frame.registers.values, values, sizeof(values));
    return frame;
}

static int walk(struct fg_unwinder *unwinder, struct fg_frame frame, fg_stack_visit_fn visit, void *data)
{
    enum fg_step step = FG_STEP_CALLER;
    size_t i;

    for (i = 0; i < MAX_FRAMES && step == FG_STEP_CALLER; i++) {
        visit(data, fg_frame_place(&frame), FG_STACK_SURE);
        step = fg_frame_step(unwinder, &frame);
    }
    if (step == FG_STEP_END)
        return 0;
    if (step == FG_STEP_SIGNAL)
        return -EINTR;
    return fg_search(unwinder, &frame, visit, data);
}

int fg_stack_visit(const struct fg_code *code, struct fg_memory *memory, const struct user_regs_struct *regs,
                   fg_stack_visit_fn visit, void *data)
{
    struct fg_unwinder unwinder;
    int error = fg_unwinder_open(&unwinder, code, memory);

    if (error == 0)
        error = walk(&unwinder, first_frame(regs), visit, data);
    fg_unwinder_close(&unwinder);
    return error;
}
