/* See regs.h. */
#include "arch/native/regs.h"

#include "arch/native/machine.h"

static uintptr_t return_address(const struct ftrace_regs *regs)
{
    return fg_native_regs_of(regs)->return_address;
}

static bool word(const struct ftrace_regs *regs, enum fg_word word, uint32_t n, uint64_t *out)
{
    const struct fg_native_regs *native = fg_native_regs_of(regs);

    if (word == FG_WORD_IP) {
        *out = native->ip;
        return true;
    }
    return fg_machine_word(native->registers, native->vectors, native->point, word, n, out);
}

const struct ftrace_regs_ops fg_native_regs_ops = {.return_address = return_address, .word = word};
