/* The functions that a stopped thread is in, from the latest on.
 *
 * They are found by unwinding. Words on the stack say little by themselves: each frame has room that nobody
 * has written to yet, where earlier calls have left addresses. Unwinding ends at code that nothing describes,
 * as JIT compilers and some assembly make it. Then the rest of the stack is searched for possible return
 * addresses: words after a call, from which unwinding leads to the end of the stack, or to such code again.
 * Each true return address is found, as long as the descriptions are right. A dead one nearly always is not:
 * some frame above it has been overwritten since. */
#ifndef FG_INJECT_UNWIND_STACK_H
#define FG_INJECT_UNWIND_STACK_H

#include <sys/user.h>

#include "inject/unwind/code.h"
#include "inject/unwind/memory.h"

/* How a function was found. */
enum fg_stack_find {
    FG_STACK_SURE,     /* the thread is in it */
    FG_STACK_POSSIBLE, /* it may be */
};

/* Called for each function, with an address in it. */
typedef void (*fg_stack_visit_fn)(void *data, uint64_t place, enum fg_stack_find find);

/**
 * fg_stack_visit() - Visit the functions that a thread is in.
 * @regs: its registers
 * @visit: called for each
 *
 * It ends at a signal handler: what that has interrupted is not visited.
 *
 * Return: 0. -EINTR: the thread is, or may be, in a signal handler. -EFAULT: its stack cannot be read.
 * -ENOMEM.
 */
int fg_stack_visit(const struct fg_code *code, struct fg_memory *memory, const struct user_regs_struct *regs,
                   fg_stack_visit_fn visit, void *data);

#endif
