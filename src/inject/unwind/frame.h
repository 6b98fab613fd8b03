/* One step from a frame on a thread's stack to its caller's. */
#ifndef FG_INJECT_UNWIND_FRAME_H
#define FG_INJECT_UNWIND_FRAME_H

#include "inject/unwind/expression.h"

struct fg_row_memo;

/* What unwinding reads, and what it has found. */
struct fg_unwinder {
    const struct fg_code *code;
    struct fg_memory *memory;
    struct fg_row_memo *memo; /* recursion meets the same places again and again */
};

struct fg_frame {
    struct fg_registers registers; /* those of the frame's function, as it goes on */
    bool is_caller;                /* it goes on after a call */
};

enum fg_step {
    FG_STEP_CALLER, /* the frame is the caller's now */
    FG_STEP_END,    /* there is no caller */
    FG_STEP_SIGNAL, /* the kernel has interrupted the caller to run a signal handler */
    FG_STEP_LOST,   /* nobody knows: nothing describes the code, or a register is not known */
    FG_STEP_WRONG,  /* what the description leads to is no caller: there is no such frame, or it is damaged */
};

/**
 * fg_unwinder_open() - Begin to unwind.
 *
 * Return: 0 or -ENOMEM.
 */
int fg_unwinder_open(struct fg_unwinder *unwinder, const struct fg_code *code, struct fg_memory *memory);

void fg_unwinder_close(struct fg_unwinder *unwinder);

/* Return: an address inside the instruction that the frame is at: of a caller, its call. The address after a
 * call may be in the next function already. */
uint64_t fg_frame_place(const struct fg_frame *frame);

/**
 * fg_frame_step() - Go on to the caller.
 * @frame: changed only if there is one
 *
 * Each caller's frame is at a higher address: so unwinding ends, whatever the memory holds.
 */
enum fg_step fg_frame_step(struct fg_unwinder *unwinder, struct fg_frame *frame);

#endif
