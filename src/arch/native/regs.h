/* ftrace_regs of a native call: what the hook has saved at the entry or the return. Partial: the registers
 * that a calling convention passes arguments and results in, the stack pointer and the addresses. At a place
 * within a function, these are all general registers. The slow path saves these everywhere, and gives them to
 * users with FTRACE_OPS_FL_SAVE_REGS alone. */
#ifndef FG_NATIVE_REGS_H
#define FG_NATIVE_REGS_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/native/point.h"
#include "engine/core/regs.h"

struct fg_machine_registers;

struct fg_native_regs {
    struct ftrace_regs regs; /* ops: one of the four below */
    const struct fg_machine_registers *registers;
    const struct fg_func *func; /* NULL: the call ends without a return */
    uintptr_t fp;               /* of the call's frame on the shadow stack */
    /* Those of the fast path lack these: */
    const void *vectors;      /* NULL: the registers are as the call has them */
    uintptr_t return_address; /* 0: not known */
    enum fg_native_point point;
    struct fg_native_regs *full; /* room for the copy that users with FTRACE_OPS_FL_SAVE_REGS get */
};

extern const struct ftrace_regs_ops fg_native_regs_ops, fg_native_full_regs_ops;
/* Of the fast path: `fp` is the call's entry, and vector registers are as the call has them. */
extern const struct ftrace_regs_ops fg_native_entry_regs_ops, fg_native_return_regs_ops;

/* NULL: the regs are not those of a native call, or of the fast path, or the call ends without a return. */
static inline const struct fg_native_regs *fg_native_regs_of(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_native_regs_ops || regs->ops == &fg_native_full_regs_ops
               ? (const struct fg_native_regs *)regs
               : NULL;
}

#endif
